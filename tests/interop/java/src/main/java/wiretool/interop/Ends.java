package wiretool.interop;

import io.pravega.client.admin.StreamInfo;
import io.pravega.client.segment.impl.Segment;
import io.pravega.client.stream.EventStreamWriter;
import io.pravega.client.stream.EventWriterConfig;
import io.pravega.client.stream.Stream;
import io.pravega.client.stream.StreamCut;
import io.pravega.client.stream.Transaction;
import io.pravega.client.stream.impl.StreamCutImpl;
import io.pravega.client.stream.impl.TxnSegments;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.TimeUnit;

/** What becomes of streams and transactions when they end. */
final class Ends {
    private static final long LEASE_MS = 10_000;
    private static final long POLL_MS = 50;
    private static final long WRITER_S = 20;

    private Ends() {
    }

    /** A sealed stream, as those see it who look at it or write to it afterwards. */
    static void sealedStream(Session session, Report report) throws Exception {
        session.prepare(2);
        session.write(Numbered.events(10, 2, 0, 0));
        report.put("sealed", session.streams.sealStream(session.scope, Session.STREAM));
        report.put("current", session.controller.getCurrentSegments(session.scope, Session.STREAM).get().getSegments().size());
        StreamInfo info = session.streams.fetchStreamInfo(session.scope, Session.STREAM).get();
        report.put("is_sealed", info.isSealed());
        report.outcome("write_later", () -> {
            try (EventStreamWriter<String> writer = session.writer(EventWriterConfig.builder().build())) {
                return writer.writeEvent("key0", "key0 -1 too late").get(WRITER_S, TimeUnit.SECONDS);
            }
        });
    }

    /** A stream that is truncated far beyond its end. */
    static void truncatedBeyond(Session session, Report report) throws Exception {
        session.prepare(1);
        Stream stream = Stream.of(session.scope, Session.STREAM);
        StreamCut cut = new StreamCutImpl(stream, Map.of(new Segment(session.scope, Session.STREAM, 0), 1_000_000L));
        report.put("truncated", session.streams.truncateStream(session.scope, Session.STREAM, cut));
        report.put("head", session.controller.getSegmentsAtTime(stream, 0).get().values());
    }

    /** A transaction whose lease runs out, since nobody pings it, and is committed too late. */
    static void expired(Session session, Report report) throws Exception {
        session.prepare(1);
        Stream stream = Stream.of(session.scope, Session.STREAM);
        TxnSegments begun = session.controller.createTransaction(stream, LEASE_MS).get();
        UUID id = begun.getTxnId();
        long start = System.nanoTime();
        while (session.controller.checkTransactionStatus(stream, id).get() == Transaction.Status.OPEN
                && System.nanoTime() - start < 3 * TimeUnit.MILLISECONDS.toNanos(LEASE_MS)) {
            Thread.sleep(POLL_MS);
        }
        report.put("open_ms", TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start));
        Transaction.Status status = session.controller.checkTransactionStatus(stream, id).get();
        while (status == Transaction.Status.ABORTING) {
            Thread.sleep(POLL_MS);
            status = session.controller.checkTransactionStatus(stream, id).get();
        }
        report.put("status", status);
        report.outcome("commit", () -> session.controller.commitTransaction(stream, "writer", 0L, id).get());
    }
}
