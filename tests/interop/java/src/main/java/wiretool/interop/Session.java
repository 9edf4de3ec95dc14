package wiretool.interop;

import io.pravega.client.ClientConfig;
import io.pravega.client.EventStreamClientFactory;
import io.pravega.client.admin.ReaderGroupManager;
import io.pravega.client.admin.StreamManager;
import io.pravega.client.control.impl.ControllerImpl;
import io.pravega.client.control.impl.ControllerImplConfig;
import io.pravega.client.stream.EventStreamReader;
import io.pravega.client.stream.EventStreamWriter;
import io.pravega.client.stream.EventWriterConfig;
import io.pravega.client.stream.ReaderConfig;
import io.pravega.client.stream.ReaderGroupConfig;
import io.pravega.client.stream.ScalingPolicy;
import io.pravega.client.stream.Stream;
import io.pravega.client.stream.StreamConfiguration;
import io.pravega.client.stream.impl.UTF8StringSerializer;
import io.pravega.shared.security.auth.DefaultCredentials;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;

/** A scenario's options, its scope, and the connection that everything in it shares. */
final class Session implements AutoCloseable {
    static final String STREAM = "stream";
    /** How long a reader waits for an event before it says that there is none. */
    private static final long POLL_MS = 500;
    /** How often it says so before it makes way. */
    private static final int READER_POLLS = 6;

    final ClientConfig config;
    final String scope;
    final StreamManager streams;
    final EventStreamClientFactory clients;
    final ReaderGroupManager groups;
    final ScheduledExecutorService executor = Executors.newScheduledThreadPool(2);
    /** The calls that no public interface of the client has: scaling, pings, configurations. */
    final ControllerImpl controller;
    private final Map<String, String> options;

    Session(String address, Map<String, String> options) {
        this.options = options;
        ClientConfig.ClientConfigBuilder builder = ClientConfig.builder().controllerURI(URI.create(address));
        if (options.containsKey("user")) {
            builder.credentials(new DefaultCredentials(options.get("password"), options.get("user")));
        }
        if (options.containsKey("truststore")) {
            builder.trustStore(options.get("truststore")).validateHostName(true);
        }
        if (options.containsKey("connections")) {
            builder.maxConnectionsPerSegmentStore(number("connections"));
        }
        config = builder.build();
        scope = options.get("scope");
        streams = StreamManager.create(config);
        clients = EventStreamClientFactory.withScope(scope, config);
        groups = ReaderGroupManager.withScope(scope, config);
        controller = new ControllerImpl(ControllerImplConfig.builder().clientConfig(config).build(), executor);
    }

    String option(String name) {
        return options.get(name);
    }

    int number(String option) {
        return Integer.parseInt(options.get(option));
    }

    /** The scope, and the stream in it. */
    void prepare(int segments) {
        streams.createScope(scope);
        streams.createStream(scope, STREAM, fixed(segments));
    }

    static StreamConfiguration fixed(int segments) {
        return StreamConfiguration.builder().scalingPolicy(ScalingPolicy.fixed(segments)).build();
    }

    EventStreamWriter<String> writer(EventWriterConfig writerConfig) {
        return clients.createEventWriter(STREAM, new UTF8StringSerializer(), writerConfig);
    }

    /** Write events and wait until all of them are stored. */
    void write(List<Numbered.Event> events) {
        try (EventStreamWriter<String> writer = writer(EventWriterConfig.builder().build())) {
            events.forEach(event -> writer.writeEvent(event.key, event.text));
            writer.flush();
        }
    }

    /** A reader group from the head of the stream. */
    void group(String name) {
        groups.createReaderGroup(name, ReaderGroupConfig.builder().stream(Stream.of(scope, STREAM)).build());
    }

    EventStreamReader<String> reader(String name, String group) {
        return clients.createReader(name, group, new UTF8StringSerializer(), ReaderConfig.builder().build());
    }

    /** The next events of a reader until nothing more comes, not before `isEnough`. */
    static List<String> read(EventStreamReader<String> reader, List<String> events, BooleanSupplier isEnough) {
        while (true) {
            var next = reader.readNextEvent(POLL_MS);
            if (next.getEvent() != null) {
                events.add(next.getEvent());
            } else if (!next.isCheckpoint() && isEnough.getAsBoolean()) {
                return events;
            }
        }
    }

    /**
     * All events of the stream, read by a group of its own. A reader that finds nothing more before there are enough
     * makes way for a new one: behind a scaling it would wait 30 s before it takes the segments that nobody has, and a
     * new one waits a second. The option `readers` bounds their number: events may be lost for good.
     */
    List<String> readAll(String group, int wanted) {
        group(group);
        List<String> events = new ArrayList<>();
        int readers = options.containsKey("readers") ? number("readers") : Integer.MAX_VALUE;
        for (int index = 0; index == 0 || events.size() < wanted && index < readers; index++) {
            AtomicInteger polls = new AtomicInteger();
            try (EventStreamReader<String> reader = reader("reader" + index, group)) {
                read(reader, events, () -> events.size() >= wanted || polls.incrementAndGet() > READER_POLLS);
            }
        }
        return events;
    }

    @Override
    public void close() {
        controller.close();
        groups.close();
        clients.close();
        streams.close();
        executor.shutdown();
    }
}
