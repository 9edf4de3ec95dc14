package wiretool.interop;

import io.pravega.client.stream.EventStreamReader;
import io.pravega.client.stream.EventStreamWriter;
import io.pravega.client.stream.EventWriterConfig;
import io.pravega.client.stream.Stream;
import io.pravega.client.stream.TimeWindow;
import java.util.ArrayList;
import java.util.List;

/** Times that writers note, and the windows of time in which a reader finds itself. */
final class Times {
    /** A controller looks at what writers have noted every few seconds. */
    private static final int ROUND_MS = 1000;
    /** Between the times that are noted in two rounds. */
    private static final long STEP = 1000;

    private Times() {
    }

    /** Two writers note times round by round until a reader at the tail has seen a bound, or for `rounds` rounds. */
    static void windows(Session session, Report report) throws Exception {
        session.prepare(1);
        session.group("group");
        Stream stream = Stream.of(session.scope, Session.STREAM);
        int rounds = session.number("rounds");
        List<Long> lower = new ArrayList<>();
        List<Long> upper = new ArrayList<>();
        int round = 0;
        EventWriterConfig config = EventWriterConfig.builder().build();
        try (EventStreamWriter<String> one = session.writer(config);
                EventStreamWriter<String> two = session.writer(config);
                EventStreamReader<String> reader = session.reader("reader", "group")) {
            while (round < rounds && lower.isEmpty()) {
                round++;
                write(one, "one", round, STEP * round);
                write(two, "two", round, STEP * round + 1);
                long until = System.currentTimeMillis() + ROUND_MS;
                while (System.currentTimeMillis() < until) {
                    reader.readNextEvent(ROUND_MS / 4);
                }
                TimeWindow window = reader.getCurrentTimeWindow(stream);
                add(lower, window.getLowerTimeBound());
                add(upper, window.getUpperTimeBound());
            }
        }
        report.put("rounds", round);
        report.put("lower", lower);
        report.put("upper", upper);
    }

    private static void write(EventStreamWriter<String> writer, String name, int round, long time) {
        writer.writeEvent("key", name + " " + round);
        writer.flush();
        writer.noteTime(time);
    }

    private static void add(List<Long> bounds, Long bound) {
        if (bound != null) {
            bounds.add(bound);
        }
    }
}
