package wiretool.interop;

import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.wait.strategy.Wait;

/** A mock server in a container, with its control API. */
final class MockContainer extends GenericContainer<MockContainer> {
    private static final int SERVER = 7000;
    private static final int CONTROL = 7001;

    /** @param protocol such as sbp or offramp, whose servers do not tell clients addresses */
    MockContainer(String protocol) {
        super("wiretool");
        withExposedPorts(SERVER, CONTROL);
        withCommand("serve", protocol, "--listen", "0.0.0.0:" + SERVER,
                "--control", "0.0.0.0:" + CONTROL, "--allow-remote", "localhost");
        waitingFor(Wait.forHttp("/connections").forPort(CONTROL));
    }

    /** Where clients connect to. */
    String address() {
        return getHost() + ":" + getMappedPort(SERVER);
    }

    /** The control API. */
    Control control() {
        return new Control(getHost() + ":" + getMappedPort(CONTROL));
    }
}
