package wiretool.interop;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.Lists;
import io.pravega.client.stream.RetentionPolicy;
import io.pravega.client.stream.ScalingPolicy;
import io.pravega.client.stream.Stream;
import io.pravega.client.stream.StreamConfiguration;
import io.pravega.client.stream.StreamCut;
import java.time.Duration;
import java.util.Iterator;
import java.util.List;
import java.util.TreeSet;

/** Scopes, streams and tags. */
final class Streams {
    private Streams() {
    }

    static void streams(Session session, Report report) {
        var manager = session.streams;
        String scope = session.scope;
        StreamConfiguration tagged = StreamConfiguration.builder().scalingPolicy(ScalingPolicy.byEventRate(10, 2, 3))
                .retentionPolicy(RetentionPolicy.byTime(Duration.ofDays(1))).tags(List.of("a", "b")).build();
        report.outcome("create_scope", () -> manager.createScope(scope));
        report.outcome("create_scope_again", () -> manager.createScope(scope));
        report.outcome("create_tagged", () -> manager.createStream(scope, "tagged", tagged));
        report.outcome("create_again", () -> manager.createStream(scope, "tagged", tagged));
        report.outcome("create_plain", () -> manager.createStream(scope, "plain", Session.fixed(1)));
        report.outcome("create_without_scope", () -> manager.createStream(scope + "-none", "stream", Session.fixed(1)));
        report.outcome("exists", () -> List.of(manager.checkScopeExists(scope), manager.checkScopeExists(scope + "-none"),
                manager.checkStreamExists(scope, "plain"), manager.checkStreamExists(scope, "none")));
        report.outcome("streams", () -> names(manager.listStreams(scope)));
        report.outcome("streams_tagged", () -> names(manager.listStreams(scope, "b")));
        report.outcome("tags", () -> new TreeSet<>(manager.getStreamTags(scope, "tagged")));
        report.outcome("same_configuration", () -> session.controller.getStreamConfiguration(scope, "tagged").get().equals(tagged));
        report.outcome("update", () -> manager.updateStream(scope, "tagged", Session.fixed(3)));
        report.outcome("tags_updated", () -> new TreeSet<>(manager.getStreamTags(scope, "tagged")));
        report.outcome("scope_listed", () -> ImmutableList.copyOf(manager.listScopes()).contains(scope));
        report.outcome("delete_unsealed", () -> manager.deleteStream(scope, "plain"));
        truncate(session, report);
        // The last thing in the scope: the real server forgets its reader groups by it, although it refuses.
        report.outcome("delete_scope_in_use", () -> manager.deleteScope(scope));
        for (String name : List.of("tagged", "plain", Session.STREAM)) {
            report.outcome("seal_" + name, () -> manager.sealStream(scope, name));
            report.outcome("delete_" + name, () -> manager.deleteStream(scope, name));
        }
        report.outcome("delete_again", () -> manager.deleteStream(scope, "plain"));
        report.outcome("delete_scope", () -> manager.deleteScope(scope));
        report.outcome("exists_deleted", () -> manager.checkScopeExists(scope));
        session.prepare(1);
        report.outcome("delete_recursive", () -> manager.deleteScopeRecursive(scope));
        report.outcome("exists_deleted_recursive", () -> manager.checkScopeExists(scope));
    }

    /** Cut a stream at its tail: the old events are gone, later ones are read. */
    private static void truncate(Session session, Report report) {
        session.prepare(1);
        session.write(Numbered.events(10, 1, 0, 1000));
        StreamCut tail = session.streams.fetchStreamInfo(session.scope, Session.STREAM).join().getTailStreamCut();
        report.outcome("truncate", () -> session.streams.truncateStream(session.scope, Session.STREAM, tail));
        StreamCut head = session.streams.fetchStreamInfo(session.scope, Session.STREAM).join().getHeadStreamCut();
        report.put("truncated", head.asImpl().getPositions().equals(tail.asImpl().getPositions()));
        session.write(Numbered.events(10, 1, 0, 0));
        report.put("left", session.readAll("group", 10).size());
        session.groups.deleteReaderGroup("group");
    }

    /** The streams' names without those that a server keeps for itself. */
    private static TreeSet<String> names(Iterator<Stream> found) {
        TreeSet<String> names = new TreeSet<>();
        Lists.newArrayList(found).stream().map(Stream::getStreamName).filter(name -> !name.startsWith("_")).forEach(names::add);
        return names;
    }

    /** A client that the server does not let in. */
    static void forbidden(Session session, Report report) {
        report.outcome("create_scope", () -> session.streams.createScope(session.scope));
    }
}
