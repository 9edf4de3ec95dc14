package wiretool.interop;

import io.pravega.local.InProcPravegaCluster;
import java.io.OutputStream;
import java.net.ConnectException;
import java.net.Socket;

/**
 * One controller, one segment store and their ZooKeeper in this process, with everything in memory. Prints a line when
 * clients may connect, and runs until its input ends. It listens on all interfaces, so it belongs into a network namespace.
 */
public final class RealPravega {
    private static final int CONTROLLER_PORT = 9090;
    private static final int STORE_PORT = 12345;
    private static final int ZOOKEEPER_PORT = 4000;

    private RealPravega() {
    }

    public static void main(String[] args) throws Exception {
        InProcPravegaCluster cluster = InProcPravegaCluster.builder()
                .isInProcZK(true).secureZK(false).zkUrl("localhost:" + ZOOKEEPER_PORT).zkPort(ZOOKEEPER_PORT)
                .isInMemStorage(true)
                .isInProcController(true).controllerCount(1)
                .isInProcSegmentStore(true).segmentStoreCount(1).containerCount(1)
                .restServerPort(0).enableRestServer(false)
                .enableAuth(false).userName("").passwd("").passwdFile("")
                .enableTls(false).tlsProtocolVersion(new String[] {"TLSv1.2", "TLSv1.3"}).enableTlsReload(false)
                .certFile("").keyFile("").jksKeyFile("").jksTrustFile("").keyPasswordFile("")
                .enableMetrics(false).enableInfluxDB(false).enablePrometheus(false).metricsReportInterval(60)
                .enableAdminGateway(false).adminGatewayPort(0).replyWithStackTraceOnError(false)
                .build();
        cluster.setControllerPorts(new int[] {CONTROLLER_PORT});
        cluster.setSegmentStorePorts(new int[] {STORE_PORT});
        cluster.start();
        awaitController();
        System.out.println("ready");
        System.in.transferTo(OutputStream.nullOutputStream());
        System.exit(0);
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
}
