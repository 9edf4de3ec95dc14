package wiretool.interop;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The control API of a server that runs, with the JDK alone; docs/testcontainers.md shows it. */
final class Control {
    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final Pattern ID = Pattern.compile("\"id\":\\s*(\\d+)");

    private final HttpClient client = HttpClient.newHttpClient();
    private final String address;

    /** @param address HOST:PORT of the API */
    Control(String address) {
        this.address = address;
    }

    /** Put a fault rule in force; returns its number. */
    int addRule(String rule) throws IOException, InterruptedException {
        String body = "{\"rule\": \"" + rule.replace("\\", "\\\\").replace("\"", "\\\"") + "\"}";
        Matcher id = ID.matcher(ask("POST", "/rules", body));
        if (!id.find()) {
            throw new IOException("the new rule has no id");
        }
        return Integer.parseInt(id.group(1));
    }

    /** Wait until a fault rule has acted; returns its figures as JSON. */
    String waitForRule(int number) throws IOException, InterruptedException {
        return ask("POST", "/rules/" + number + "/wait", "");
    }

    /** Take a fault rule out of force. */
    void removeRule(int number) throws IOException, InterruptedException {
        ask("DELETE", "/rules/" + number, "");
    }

    private String ask(String method, String path, String body) throws IOException, InterruptedException {
        HttpRequest request = HttpRequest.newBuilder(URI.create("http://" + address + path))
                .timeout(PATIENCE)
                .header("Content-Type", "application/json")
                .method(method, body.isEmpty() ? BodyPublishers.noBody() : BodyPublishers.ofString(body))
                .build();
        var response = client.send(request, BodyHandlers.ofString());
        if (response.statusCode() >= 300) {
            throw new IOException(method + " " + path + ": HTTP " + response.statusCode() + ": " + response.body());
        }
        return response.body();
    }
}
