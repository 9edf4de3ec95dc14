package wiretool.interop;

import io.pravega.client.stream.EventStreamWriter;
import io.pravega.client.stream.EventWriterConfig;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** Writers of events. */
final class Events {
    private Events() {
    }

    /** One writer; its first events are awaited one by one, the others are not. Then one reader. */
    static void events(Session session, Report report) {
        int count = session.number("count");
        session.prepare(session.number("segments"));
        try (EventStreamWriter<String> writer = session.writer(EventWriterConfig.builder().build())) {
            List<Numbered.Event> events = Numbered.events(count, session.number("keys"), session.number("size_bytes"), 0);
            for (int index = 0; index < count; index++) {
                CompletableFuture<Void> stored = writer.writeEvent(events.get(index).key, events.get(index).text);
                if (index < 20) {
                    stored.join();
                }
            }
            writer.flush();
        }
        Numbered.seen(report, session.readAll("group", count));
    }

    /** A writer for each key on few connections. */
    static void pooled(Session session, Report report) {
        int count = session.number("count");
        int keys = session.number("keys");
        session.prepare(session.number("segments"));
        EventWriterConfig config = EventWriterConfig.builder().enableConnectionPooling(true).build();
        List<EventStreamWriter<String>> writers = new ArrayList<>();
        for (int index = 0; index < keys; index++) {
            writers.add(session.writer(config));
        }
        List<Numbered.Event> events = Numbered.events(count, keys, 0, 0);
        for (int index = 0; index < count; index++) {
            writers.get(index % keys).writeEvent(events.get(index).key, events.get(index).text);
        }
        writers.forEach(EventStreamWriter::flush);
        writers.forEach(EventStreamWriter::close);
        Numbered.seen(report, session.readAll("group", count));
    }

    /** Events of many MiB among small ones. */
    static void large(Session session, Report report) {
        session.prepare(1);
        List<Integer> sizes = List.of(10, session.number("size_bytes"), 10, 8 << 20, 10);
        List<CompletableFuture<Void>> stored = new ArrayList<>();
        try (EventStreamWriter<String> writer = session.writer(EventWriterConfig.builder().enableLargeEvents(true).build())) {
            for (int number = 0; number < sizes.size(); number++) {
                stored.add(writer.writeEvent("key0", Numbered.pad("key0 " + number + " ", sizes.get(number))));
            }
            writer.flush();
        }
        stored.forEach(CompletableFuture::join);
        List<String> events = session.readAll("group", sizes.size());
        List<Integer> found = new ArrayList<>();
        events.forEach(event -> found.add(event.length()));
        report.put("sizes_bytes", found);
        Report.check(found.equals(sizes), "sizes " + found);
        Numbered.seen(report, events);
    }

    /** A stream that is sealed under its writer, read to its end, and deleted. */
    static void sealed(Session session, Report report) {
        int count = session.number("count");
        session.prepare(2);
        try (EventStreamWriter<String> writer = session.writer(EventWriterConfig.builder().build())) {
            Numbered.events(count, session.number("keys"), 0, 0).forEach(event -> writer.writeEvent(event.key, event.text));
            writer.flush();
            report.put("sealed", session.streams.sealStream(session.scope, Session.STREAM));
            report.outcome("late", () -> writer.writeEvent("key0", "key0 -1 too late").get());
        } catch (IllegalStateException closed) {
            report.put("closed", closed.getClass().getSimpleName());
        }
        Numbered.seen(report, session.readAll("group", count));
        report.outcome("deleted", () -> session.streams.deleteStream(session.scope, Session.STREAM));
        report.outcome("exists", () -> session.streams.checkStreamExists(session.scope, Session.STREAM));
    }
}
