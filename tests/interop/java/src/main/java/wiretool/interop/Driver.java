package wiretool.interop;

import java.util.Map;
import java.util.TreeMap;

/**
 * Runs one scenario of Pravega's Java client and prints what it has seen as one line of JSON:
 * {@code Driver SCENARIO CONTROLLER_URI scope=NAME [option=value...]}. Exits 1 if the scenario's own checks fail.
 */
public final class Driver {
    private interface Scenario {
        void run(Session session, Report report) throws Exception;
    }

    private static final Map<String, Scenario> SCENARIOS = Map.ofEntries(
            Map.entry("batch", Readers::batch),
            Map.entry("bytes", ByteStreams::bytes),
            Map.entry("checkpoint", Readers::checkpoint),
            Map.entry("controlled", Faults::controlled),
            Map.entry("events", Events::events),
            Map.entry("expired", Ends::expired),
            Map.entry("forbidden", Streams::forbidden),
            Map.entry("large", Events::large),
            Map.entry("pooled", Events::pooled),
            Map.entry("revisions", Revisions::revisions),
            Map.entry("scaling", Scaling::scaling),
            Map.entry("sealed", Events::sealed),
            Map.entry("sealed_stream", Ends::sealedStream),
            Map.entry("streams", Streams::streams),
            Map.entry("synchronizer", Revisions::synchronizer),
            Map.entry("table", Tables::table),
            Map.entry("transactions", Transactions::transactions),
            Map.entry("truncated_beyond", Ends::truncatedBeyond),
            Map.entry("two_readers", Readers::twoReaders),
            Map.entry("windows", Times::windows));

    private Driver() {
    }

    public static void main(String[] args) {
        Scenario scenario = SCENARIOS.get(args.length > 1 ? args[0] : "");
        if (scenario == null) {
            System.err.println("usage: Driver SCENARIO CONTROLLER_URI [option=value...]; scenarios: " + new TreeMap<>(SCENARIOS).keySet());
            System.exit(2);
        }
        Map<String, String> options = new TreeMap<>();
        for (int index = 2; index < args.length; index++) {
            String[] option = args[index].split("=", 2);
            options.put(option[0], option[1]);
        }
        Report report = new Report();
        try (Session session = new Session(args[1], options)) {
            scenario.run(session, report);
        } catch (Throwable failure) {
            // Of errors as well: the client's threads would keep the process after one that nobody catches.
            failure.printStackTrace();
            System.exit(1);
        }
        System.out.println(report);
        // The client's threads would keep the process for a while.
        System.exit(0);
    }
}
