package wiretool.interop;

import io.pravega.client.segment.impl.Segment;
import io.pravega.client.stream.EventStreamWriter;
import io.pravega.client.stream.EventWriterConfig;
import io.pravega.client.stream.Stream;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;

/** A stream that gets other segments while events are written to it. */
final class Scaling {
    private static final int ROUND_S = 30;

    private Scaling() {
    }

    /** From 1 segment to 3 to 2 while a thread writes rounds of events; then all are read. */
    static void scaling(Session session, Report report) throws Exception {
        int count = session.number("count");
        int keys = session.number("keys");
        session.prepare(1);
        AtomicBoolean isOver = new AtomicBoolean();
        AtomicInteger rounds = new AtomicInteger();
        Semaphore ends = new Semaphore(0);
        List<Throwable> failures = new ArrayList<>();
        Thread writing = new Thread(() -> writeRounds(session, count, keys, isOver, rounds, ends));
        writing.setUncaughtExceptionHandler((thread, failure) -> failures.add(failure));
        List<Integer> segments = new ArrayList<>();
        Stream stream = Stream.of(session.scope, Session.STREAM);
        try {
            writing.start();
            for (int wanted : List.of(3, 2)) {
                awaitRound(ends);
                boolean isScaled = session.controller
                        .scaleStream(stream, current(session), evenly(wanted), session.executor).getFuture().get();
                Report.check(isScaled, "the stream was not scaled to " + wanted);
                segments.add(current(session).size());
            }
            awaitRound(ends);
        } finally {
            isOver.set(true);
        }
        writing.join();
        Report.check(failures.isEmpty(), "the writer: " + failures);
        report.put("segments", segments);
        report.put("written", rounds.get() * count);
        Numbered.seen(report, session.readAll("group", rounds.get() * count));
    }

    private static void writeRounds(Session session, int count, int keys, AtomicBoolean isOver, AtomicInteger rounds, Semaphore ends) {
        try (EventStreamWriter<String> writer = session.writer(EventWriterConfig.builder().build())) {
            while (!isOver.get()) {
                Numbered.events(count, keys, 0, rounds.get() * count / keys).forEach(event -> writer.writeEvent(event.key, event.text));
                writer.flush();
                rounds.incrementAndGet();
                ends.release();
            }
        }
    }

    /** So many key ranges of the same width. */
    private static Map<Double, Double> evenly(int segments) {
        Map<Double, Double> ranges = new TreeMap<>();
        for (int index = 0; index < segments; index++) {
            ranges.put((double) index / segments, (double) (index + 1) / segments);
        }
        return ranges;
    }

    /** Wait until one more round has been written. */
    private static void awaitRound(Semaphore rounds) throws InterruptedException {
        rounds.drainPermits();
        Report.check(rounds.tryAcquire(ROUND_S, TimeUnit.SECONDS), "nothing was written in " + ROUND_S + " s");
    }

    private static List<Long> current(Session session) throws Exception {
        return session.controller.getCurrentSegments(session.scope, Session.STREAM).get().getSegments().stream()
                .map(Segment::getSegmentId).collect(Collectors.toList());
    }
}
