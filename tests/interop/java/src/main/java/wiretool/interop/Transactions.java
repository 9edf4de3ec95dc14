package wiretool.interop;

import io.pravega.client.stream.EventWriterConfig;
import io.pravega.client.stream.Stream;
import io.pravega.client.stream.Transaction;
import io.pravega.client.stream.TransactionalEventStreamWriter;
import io.pravega.client.stream.impl.UTF8StringSerializer;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/** Transactions of events. */
final class Transactions {
    private Transactions() {
    }

    /** Transactions committed and aborted in turn; what is aborted has the numbers that the next one keeps. */
    static void transactions(Session session, Report report) throws Exception {
        int count = session.number("count");
        int keys = session.number("keys");
        int rounds = session.number("rounds");
        List<String> states = new ArrayList<>();
        session.prepare(2);
        try (TransactionalEventStreamWriter<String> writer = session.clients.createTransactionalEventWriter(
                "writer", Session.STREAM, new UTF8StringSerializer(), EventWriterConfig.builder().transactionTimeoutTime(30_000).build())) {
            for (int round = 0; round < rounds; round++) {
                for (boolean isKept : List.of(true, false)) {
                    Transaction<String> txn = begin(writer, count, keys, (round + (isKept ? 0 : 1)) * count / keys);
                    states.add(String.valueOf(txn.checkStatus()));
                    finish(txn, isKept);
                    states.add(ended(txn));
                    report.outcome("write_ended", () -> {
                        txn.writeEvent("key0", "key0 -1 too late");
                        return null;
                    });
                }
            }
            Transaction<String> open = begin(writer, count, keys, rounds * count / keys);
            Transaction<String> found = writer.getTxn(open.getTxnId());
            Stream stream = Stream.of(session.scope, Session.STREAM);
            report.put("ping", String.valueOf(session.controller.pingTransaction(stream, open.getTxnId(), 20_000).get()));
            report.put("same_id", found.getTxnId().equals(open.getTxnId()));
            finish(found, true);
            report.put("found_ended", ended(open));
            report.put("completed", session.streams.listCompletedTransactions(stream).stream()
                    .filter(info -> info.getTransactionId().equals(open.getTxnId()))
                    .map(info -> String.valueOf(info.getTransactionStatus())).collect(Collectors.toList()));
        }
        report.put("states", states);
        Numbered.seen(report, session.readAll("group", (rounds + 1) * count));
    }

    private static Transaction<String> begin(TransactionalEventStreamWriter<String> writer, int count, int keys, int first) throws Exception {
        Transaction<String> txn = writer.beginTxn();
        for (Numbered.Event event : Numbered.events(count, keys, 0, first)) {
            txn.writeEvent(event.key, event.text);
        }
        txn.flush();
        return txn;
    }

    private static void finish(Transaction<String> txn, boolean isKept) throws Exception {
        if (isKept) {
            txn.commit(System.currentTimeMillis());
        } else {
            txn.abort();
        }
    }

    /** How a transaction has ended, once it has. */
    private static String ended(Transaction<String> txn) {
        Transaction.Status status = txn.checkStatus();
        while (status == Transaction.Status.COMMITTING || status == Transaction.Status.ABORTING) {
            Thread.onSpinWait();
            status = txn.checkStatus();
        }
        return String.valueOf(status);
    }
}
