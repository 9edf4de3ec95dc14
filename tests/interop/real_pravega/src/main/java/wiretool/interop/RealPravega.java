package wiretool.interop;

import io.pravega.local.InProcPravegaCluster;
import io.pravega.shared.security.crypto.StrongPasswordProcessor;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.ConnectException;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;

/**
 * One controller, one segment store and their ZooKeeper in this process, with everything in memory. Prints a line when
 * clients may connect, and runs until its input ends. It listens on all interfaces, so it belongs into a network namespace.
 *
 * <p>Arguments: {@code authorization} checks delegation tokens, which are signed with the default key; {@code admin} opens
 * the admin port and has four containers.
 */
public final class RealPravega {
    private static final int CONTROLLER_PORT = 9090;
    private static final int STORE_PORT = 12345;
    private static final int ADMIN_PORT = 9999;
    private static final int ZOOKEEPER_PORT = 4000;
    private static final int CONTAINERS = 4;
    /** Rounds in a row in which every container is flushed: the controller has then ended its first writes. */
    private static final int CALM_ROUNDS = 5;
    private static final int FLUSH_TO_STORAGE = -3;
    private static final String USER = "user";
    private static final String PASSWORD = "password";

    private RealPravega() {
    }

    public static void main(String[] args) throws Exception {
        Set<String> options = Set.of(args);
        boolean checksTokens = options.contains("authorization");
        boolean hasAdminPort = options.contains("admin");
        InProcPravegaCluster cluster = InProcPravegaCluster.builder()
                .isInProcZK(true).secureZK(false).zkUrl("localhost:" + ZOOKEEPER_PORT).zkPort(ZOOKEEPER_PORT)
                .isInMemStorage(true)
                .isInProcController(true).controllerCount(1)
                .isInProcSegmentStore(true).segmentStoreCount(1).containerCount(hasAdminPort ? CONTAINERS : 1)
                .restServerPort(0).enableRestServer(false)
                .enableAuth(checksTokens).userName(checksTokens ? USER : "").passwd(checksTokens ? PASSWORD : "")
                .passwdFile(checksTokens ? accountFile().toString() : "")
                .enableTls(false).tlsProtocolVersion(new String[] {"TLSv1.2", "TLSv1.3"}).enableTlsReload(false)
                .certFile("").keyFile("").jksKeyFile("").jksTrustFile("").keyPasswordFile("")
                .enableMetrics(false).enableInfluxDB(false).enablePrometheus(false).metricsReportInterval(60)
                .enableAdminGateway(hasAdminPort).adminGatewayPort(hasAdminPort ? ADMIN_PORT : 0)
                .replyWithStackTraceOnError(false)
                .build();
        cluster.setControllerPorts(new int[] {CONTROLLER_PORT});
        cluster.setSegmentStorePorts(new int[] {STORE_PORT});
        cluster.start();
        awaitController();
        if (hasAdminPort) {
            awaitFlushes();
        }
        System.out.println("ready");
        System.in.transferTo(OutputStream.nullOutputStream());
        System.exit(0);
    }

    /** Writes the file with the one account of the controller, which may do everything. */
    private static Path accountFile() throws Exception {
        Path file = Files.createTempFile("accounts", ".txt");
        file.toFile().deleteOnExit();
        String hash = StrongPasswordProcessor.builder().build().encryptPassword(PASSWORD);
        return Files.writeString(file, USER + ":" + hash + ":prn::*,READ_UPDATE;\n");
    }

    /** The controller listens some time after the cluster has started. */
    private static void awaitController() throws Exception {
        while (true) {
            try (Socket socket = new Socket("localhost", CONTROLLER_PORT)) {
                return;
            } catch (ConnectException refused) {
                Thread.sleep(50);
            }
        }
    }

    /** A container that is being started, or written to, refuses to be flushed. */
    private static void awaitFlushes() throws Exception {
        for (int rounds = 0; rounds < CALM_ROUNDS; rounds = allFlushed() ? rounds + 1 : 0) {
            Thread.sleep(200);
        }
    }

    private static boolean allFlushed() throws IOException {
        for (int container = 0; container < CONTAINERS; container++) {
            if (!isFlushed(container)) {
                return false;
            }
        }
        return true;
    }

    /** Returns whether the server answers a request to flush; else it closes the connection. */
    private static boolean isFlushed(int container) throws IOException {
        try (Socket socket = new Socket("localhost", ADMIN_PORT)) {
            DataOutputStream request = new DataOutputStream(socket.getOutputStream());
            request.writeInt(FLUSH_TO_STORAGE);
            request.writeInt(Integer.BYTES + Short.BYTES + Long.BYTES);
            request.writeInt(container);
            request.writeShort(0);
            request.writeLong(1);
            return socket.getInputStream().read() >= 0;
        }
    }
}
