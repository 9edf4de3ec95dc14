package wiretool.interop;

import com.google.common.collect.Lists;
import io.pravega.client.BatchClientFactory;
import io.pravega.client.batch.SegmentIterator;
import io.pravega.client.batch.SegmentRange;
import io.pravega.client.stream.Checkpoint;
import io.pravega.client.stream.EventRead;
import io.pravega.client.stream.EventStreamReader;
import io.pravega.client.stream.ReaderGroup;
import io.pravega.client.stream.ReaderGroupConfig;
import io.pravega.client.stream.Stream;
import io.pravega.client.stream.StreamCut;
import io.pravega.client.stream.impl.UTF8StringSerializer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** Reader groups, and readers without one. */
final class Readers {
    private Readers() {
    }

    /** Two readers of a group, both at work. Each gets segments of its own after some seconds. */
    static void twoReaders(Session session, Report report) {
        int count = session.number("count");
        int keys = session.number("keys");
        session.prepare(4);
        session.group("group");
        List<String> events = new ArrayList<>();
        List<Integer> shares = new ArrayList<>(List.of(0, 0));
        int written = 0;
        try (EventStreamReader<String> first = session.reader("first", "group");
                EventStreamReader<String> second = session.reader("second", "group")) {
            List<EventStreamReader<String>> readers = List.of(first, second);
            while (shares.contains(0) || events.size() < written) {
                if (shares.contains(0)) {
                    session.write(Numbered.events(count, keys, 0, written / keys));
                    written += count;
                }
                for (int index = 0; index < 2; index++) {
                    int before = events.size();
                    Session.read(readers.get(index), events, () -> true);
                    shares.set(index, shares.get(index) + events.size() - before);
                }
            }
        }
        report.put("written", written);
        report.put("shares", shares);
        Numbered.seen(report, events);
    }

    /** A checkpoint in the middle: a group that is set back to it reads the second half again, and only that. */
    static void checkpoint(Session session, Report report) throws Exception {
        int count = session.number("count");
        int keys = session.number("keys");
        session.prepare(2);
        session.write(Numbered.events(count, keys, 0, 0));
        session.group("group");
        List<String> events = new ArrayList<>();
        List<String> again = new ArrayList<>();
        try (ReaderGroup group = session.groups.getReaderGroup("group")) {
            Checkpoint middle;
            try (EventStreamReader<String> reader = session.reader("reader", "group")) {
                Session.read(reader, events, () -> events.size() >= count);
                CompletableFuture<Checkpoint> reached = group.initiateCheckpoint("middle", session.executor);
                while (!reached.isDone()) {
                    EventRead<String> next = reader.readNextEvent(100);
                    Report.check(next.getEvent() == null, "an event that nobody has written: " + next);
                }
                middle = reached.get();
                session.write(Numbered.events(count, keys, 0, count / keys));
                Session.read(reader, events, () -> events.size() >= 2 * count);
            }
            group.resetReaderGroup(ReaderGroupConfig.builder().startFromCheckpoint(middle).build());
            try (EventStreamReader<String> reader = session.reader("later", "group")) {
                Session.read(reader, again, () -> again.size() >= count);
            }
            report.put("again", Numbered.sequences(again));
            report.put("unread_bytes", group.getMetrics().unreadBytes());
        }
        session.groups.deleteReaderGroup("group");
        Numbered.seen(report, events);
    }

    /** Each segment read on its own, between two stream cuts. */
    static void batch(Session session, Report report) {
        int count = session.number("count");
        session.prepare(3);
        session.write(Numbered.events(count, session.number("keys"), 0, 0));
        List<String> events = new ArrayList<>();
        try (BatchClientFactory batch = BatchClientFactory.withScope(session.scope, session.config)) {
            List<SegmentRange> ranges = Lists.newArrayList(
                    batch.getSegments(Stream.of(session.scope, Session.STREAM), StreamCut.UNBOUNDED, StreamCut.UNBOUNDED).getIterator());
            report.put("segments", ranges.size());
            for (SegmentRange range : ranges) {
                try (SegmentIterator<String> found = batch.readSegment(range, new UTF8StringSerializer())) {
                    found.forEachRemaining(events::add);
                }
            }
        }
        Numbered.seen(report, events);
    }
}
