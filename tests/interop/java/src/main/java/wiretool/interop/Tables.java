package wiretool.interop;

import io.pravega.client.KeyValueTableFactory;
import io.pravega.client.admin.KeyValueTableManager;
import io.pravega.client.tables.Insert;
import io.pravega.client.tables.IteratorItem;
import io.pravega.client.tables.KeyValueTable;
import io.pravega.client.tables.KeyValueTableClientConfiguration;
import io.pravega.client.tables.KeyValueTableConfiguration;
import io.pravega.client.tables.Put;
import io.pravega.client.tables.Remove;
import io.pravega.client.tables.TableEntry;
import io.pravega.client.tables.TableKey;
import io.pravega.client.tables.TableModification;
import io.pravega.client.tables.Version;
import io.pravega.common.util.AsyncIterator;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** Key-value tables. */
final class Tables {
    private static final String TABLE = "table";

    private Tables() {
    }

    /** Insert, put, put and remove on condition, get, iterate, delete. */
    static void table(Session session, Report report) throws Exception {
        KeyValueTableConfiguration shape = KeyValueTableConfiguration.builder().partitionCount(session.number("partitions"))
                .primaryKeyLength(8).secondaryKeyLength(4).build();
        session.streams.createScope(session.scope);
        try (KeyValueTableManager manager = KeyValueTableManager.create(session.config);
                KeyValueTableFactory factory = KeyValueTableFactory.withScope(session.scope, session.config)) {
            report.outcome("create", () -> manager.createKeyValueTable(session.scope, TABLE, shape));
            report.outcome("create_again", () -> manager.createKeyValueTable(session.scope, TABLE, shape));
            report.outcome("same_configuration", () -> session.controller.getKeyValueTableConfiguration(session.scope, TABLE).get().equals(shape));
            List<String> names = new ArrayList<>();
            manager.listKeyValueTables(session.scope).forEachRemaining(info -> names.add(info.getKeyValueTableName()));
            report.put("tables", names);
            try (KeyValueTable table = factory.forKeyValueTable(TABLE, KeyValueTableClientConfiguration.builder().build())) {
                conditions(table, report);
                several(table, report, session.number("count"));
            }
            report.outcome("delete", () -> manager.deleteKeyValueTable(session.scope, TABLE));
            report.outcome("delete_again", () -> manager.deleteKeyValueTable(session.scope, TABLE));
        }
    }

    private static void conditions(KeyValueTable table, Report report) throws Exception {
        TableKey key = key(0, 0);
        Version first = table.update(new Insert(key, bytes("one"))).get();
        report.outcome("insert_again", () -> table.update(new Insert(key, bytes("other"))).get());
        Version second = table.update(new Put(key, bytes("two"), first)).get();
        report.outcome("put_stale", () -> table.update(new Put(key, bytes("other"), first)).get());
        Version third = table.update(new Put(key, bytes("three"))).get();
        report.outcome("remove_stale", () -> table.update(new Remove(key, second)).get());
        TableEntry entry = table.get(key).get();
        report.put("value", text(entry.getValue()));
        report.put("same_version", entry.getVersion().equals(third));
        table.update(new Remove(key, third)).get();
        report.put("removed", table.get(key).get() == null && !table.exists(key).get());
        report.outcome("put_removed", () -> table.update(new Put(key, bytes("other"), third)).get());
        report.outcome("remove_removed", () -> table.update(new Remove(key, third)).get());
    }

    /** Many entries in batches of one primary key; read, walked through, and partly taken out again. */
    private static void several(KeyValueTable table, Report report, int count) throws Exception {
        Map<String, String> expected = new TreeMap<>();
        for (int primary = 1; primary <= count; primary++) {
            List<TableModification> batch = new ArrayList<>();
            for (int secondary = 0; secondary < 5; secondary++) {
                batch.add(new Insert(key(primary, secondary), bytes("value" + secondary)));
                expected.put(primary + "/" + secondary, "value" + secondary);
            }
            table.update(batch).get();
        }
        report.outcome("batch_again", () -> table.update(
                List.of(new Put(key(1, 0), bytes("no")), new Insert(key(1, 1), bytes("no")))).get());
        table.update(new Remove(key(1, 4))).get();
        expected.remove("1/4");
        report.put("get_all", table.getAll(List.of(key(1, 0), key(2, 1), key(1, 4))).get().stream()
                .map(entry -> entry == null ? "none" : text(entry.getValue())).collect(Collectors.toList()));
        Map<String, String> walked = walk(table.iterator().maxIterationSize(7).all().entries());
        report.put("walked", walked.size());
        report.put("keys", Numbered.sha256(bytesOf(walked)));
        Report.check(walked.equals(expected), "walked " + walked);
        Map<String, String> part = walk(table.iterator().maxIterationSize(2)
                .forPrimaryKey(number(2, 8), number(1, 4), number(3, 4)).entries());
        report.put("part", part.keySet());
    }

    private static Map<String, String> walk(AsyncIterator<IteratorItem<TableEntry>> pages) throws Exception {
        Map<String, String> found = new TreeMap<>();
        for (var page = pages.getNext().get(); page != null; page = pages.getNext().get()) {
            for (TableEntry entry : page.getItems()) {
                TableKey key = entry.getKey();
                String name = key.getPrimaryKey().getLong(0) + "/" + key.getSecondaryKey().getInt(0);
                Report.check(found.put(name, text(entry.getValue())) == null, "walked twice over " + name);
            }
        }
        return found;
    }

    private static byte[] bytesOf(Map<String, String> entries) {
        return entries.toString().getBytes(StandardCharsets.UTF_8);
    }

    private static TableKey key(int primary, int secondary) {
        return new TableKey(number(primary, 8), number(secondary, 4));
    }

    private static ByteBuffer number(int value, int sizeBytes) {
        return (ByteBuffer) (sizeBytes == 8 ? ByteBuffer.allocate(8).putLong(value) : ByteBuffer.allocate(4).putInt(value)).flip();
    }

    private static ByteBuffer bytes(String text) {
        return ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8));
    }

    private static String text(ByteBuffer data) {
        return StandardCharsets.UTF_8.decode(data.duplicate()).toString();
    }
}
