package wiretool.interop;

import io.pravega.client.stream.EventStreamWriter;
import io.pravega.client.stream.EventWriterConfig;

/** Faults that a test causes while the client runs. */
final class Faults {
    private Faults() {
    }

    /** The connection is reset with the reply to an append: the writer connects again, and nothing is lost. */
    static void controlled(Session session, Report report) throws Exception {
        Control control = new Control(session.option("control"));
        session.prepare(1);
        try (EventStreamWriter<String> writer = session.writer(EventWriterConfig.builder().build())) {
            writer.writeEvent("before").join();
            int rule = control.addRule("message == \"DataAppended\" nth=1: reset");
            writer.writeEvent("across").join();
            report.put("has_acted", control.waitForRule(rule).contains("\"hits\":1"));
            control.removeRule(rule);
            writer.writeEvent("after").join();
        }
        report.put("events", session.readAll("group", 3));
    }
}
