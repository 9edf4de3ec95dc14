package wiretool.interop;

import io.pravega.client.ByteStreamClientFactory;
import io.pravega.client.byteStream.ByteStreamReader;
import io.pravega.client.byteStream.ByteStreamWriter;
import java.io.DataInputStream;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import java.util.Random;

/** Byte streams. */
final class ByteStreams {
    private ByteStreams() {
    }

    /** Bytes written, read from several places, cut off at the head, and closed for good. */
    static void bytes(Session session, Report report) throws Exception {
        int size = session.number("size_bytes");
        byte[] data = new byte[size];
        new Random(session.number("seed")).nextBytes(data);
        session.prepare(1);
        try (ByteStreamClientFactory clients = ByteStreamClientFactory.withScope(session.scope, session.config);
                ByteStreamWriter writer = clients.createByteStreamWriter(Session.STREAM);
                ByteStreamReader reader = clients.createByteStreamReader(Session.STREAM)) {
            writer.write(data);
            writer.flush();
            report.put("ends", List.of(reader.fetchHeadOffset(), writer.fetchTailOffset()));
            report.put("whole", Numbered.sha256(next(reader, size)).equals(Numbered.sha256(data)));
            reader.seekToOffset(size - 10);
            report.put("last", Numbered.sha256(next(reader, 10)).equals(Numbered.sha256(last(data, 10))));
            writer.truncateDataBefore(size / 2);
            report.put("ends_truncated", List.of(reader.fetchHeadOffset(), reader.fetchTailOffset()));
            reader.seekToOffset(size / 4);
            report.outcome("read_truncated", reader::read);
        }
        try (ByteStreamClientFactory clients = ByteStreamClientFactory.withScope(session.scope, session.config);
                ByteStreamWriter writer = clients.createByteStreamWriter(Session.STREAM);
                ByteStreamReader reader = clients.createByteStreamReader(Session.STREAM)) {
            writer.write(new byte[] {1, 2, 3});
            writer.closeAndSeal();
            reader.seekToOffset(size - 1);
            report.put("more", Arrays.equals(next(reader, 4), new byte[] {data[size - 1], 1, 2, 3}));
            report.put("end", reader.read());
        }
    }

    /** The next bytes; not by readNBytes, which asks for no bytes in the end, and waits for them. */
    private static byte[] next(ByteStreamReader reader, int count) throws IOException {
        byte[] data = new byte[count];
        new DataInputStream(reader).readFully(data);
        return data;
    }

    private static byte[] last(byte[] data, int count) {
        return Arrays.copyOfRange(data, data.length - count, data.length);
    }
}
