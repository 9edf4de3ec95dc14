package wiretool.interop;

import io.pravega.client.SynchronizerClientFactory;
import io.pravega.client.state.InitialUpdate;
import io.pravega.client.state.Revision;
import io.pravega.client.state.Revisioned;
import io.pravega.client.state.RevisionedStreamClient;
import io.pravega.client.state.StateSynchronizer;
import io.pravega.client.state.SynchronizerConfig;
import io.pravega.client.state.Update;
import io.pravega.client.stream.Serializer;
import io.pravega.client.stream.impl.JavaSerializer;
import io.pravega.client.stream.impl.UTF8StringSerializer;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;

/** Streams that are written on condition: by revisions, and as the state of a program. */
final class Revisions {
    private Revisions() {
    }

    /** Conditional appends that hold and that do not; marks; what is read from the head and from the middle. */
    static void revisions(Session session, Report report) {
        session.prepare(1);
        try (SynchronizerClientFactory clients = SynchronizerClientFactory.withScope(session.scope, session.config);
                RevisionedStreamClient<String> client = clients.createRevisionedStreamClient(
                        Session.STREAM, new UTF8StringSerializer(), SynchronizerConfig.builder().build())) {
            Revision start = client.fetchLatestRevision();
            Revision one = client.writeConditionally(start, "one");
            report.put("first", one != null);
            report.put("stale", client.writeConditionally(start, "other") == null);
            Revision two = client.writeConditionally(one, "two");
            report.put("second", two != null);
            client.writeUnconditionally("three");
            report.put("stale_again", client.writeConditionally(two, "other") == null);
            report.put("all", values(client, start));
            report.put("from_middle", values(client, two));
            report.put("marks", List.of(client.getMark() == null, client.compareAndSetMark(null, two),
                    client.compareAndSetMark(one, start), two.equals(client.getMark()), client.compareAndSetMark(two, null)));
            client.truncateToRevision(two);
            report.put("oldest", client.fetchOldestRevision().equals(two));
            report.outcome("read_truncated", () -> values(client, start));
        }
    }

    private static List<String> values(RevisionedStreamClient<String> client, Revision from) {
        List<String> values = new ArrayList<>();
        client.readFrom(from).forEachRemaining(entry -> values.add(entry.getValue()));
        return values;
    }

    /** A counter that two clients add to, each on condition of the other's last step. */
    static void synchronizer(Session session, Report report) {
        int count = session.number("count");
        session.prepare(1);
        try (SynchronizerClientFactory clients = SynchronizerClientFactory.withScope(session.scope, session.config)) {
            List<StateSynchronizer<Sum>> both = List.of(counter(clients), counter(clients));
            both.forEach(counter -> counter.initialize(new Start()));
            StateSynchronizer.UpdateGenerator<Sum> step = (sum, updates) -> updates.add(new Add(sum.total + 1));
            for (int index = 0; index < count; index++) {
                both.get(index % 2).updateState(step);
            }
            both.forEach(StateSynchronizer::fetchUpdates);
            report.put("totals", List.of(both.get(0).getState().total, both.get(1).getState().total));
            both.forEach(StateSynchronizer::close);
        }
    }

    private static StateSynchronizer<Sum> counter(SynchronizerClientFactory clients) {
        Serializer<Add> updates = new JavaSerializer<>();
        Serializer<Start> starts = new JavaSerializer<>();
        return clients.createStateSynchronizer(Session.STREAM, updates, starts, SynchronizerConfig.builder().build());
    }

    private static final class Sum implements Revisioned {
        private final Revision revision;
        private final int total;
        private final String stream;

        Sum(String stream, Revision revision, int total) {
            this.stream = stream;
            this.revision = revision;
            this.total = total;
        }

        @Override
        public String getScopedStreamName() {
            return stream;
        }

        @Override
        public Revision getRevision() {
            return revision;
        }
    }

    private static final class Start implements InitialUpdate<Sum>, Serializable {
        private static final long serialVersionUID = 1L;

        @Override
        public Sum create(String scopedStreamName, Revision revision) {
            return new Sum(scopedStreamName, revision, 0);
        }
    }

    private static final class Add implements Update<Sum>, Serializable {
        private static final long serialVersionUID = 1L;
        private final int next;

        Add(int next) {
            this.next = next;
        }

        @Override
        public Sum applyTo(Sum old, Revision newRevision) {
            Report.check(old.total + 1 == next, "a step from " + old.total + " to " + next);
            return new Sum(old.stream, newRevision, next);
        }
    }
}
