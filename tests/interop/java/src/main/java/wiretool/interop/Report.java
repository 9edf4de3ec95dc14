package wiretool.interop;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import java.util.stream.StreamSupport;

/** What a scenario has seen: named values, printed as JSON. */
final class Report {
    /** A check of a scenario that failed: no error of the driver itself. */
    static final class CheckFailed extends RuntimeException {
        private static final long serialVersionUID = 1;

        CheckFailed(String what) {
            super(what);
        }
    }

    private final Map<String, Object> values = new LinkedHashMap<>();

    void put(String name, Object value) {
        values.put(name, value);
    }

    static void check(boolean holds, String what) {
        if (!holds) {
            throw new CheckFailed(what);
        }
    }

    /** What a call returns, or the simple name of what it throws, after the wrappings of futures. */
    static Object outcome(Callable<?> call) {
        try {
            return call.call();
        } catch (Exception refusal) {
            Throwable cause = refusal;
            while (cause.getCause() != null && cause.getClass().getName().startsWith("java.util.concurrent")) {
                cause = cause.getCause();
            }
            return cause.getClass().getSimpleName();
        }
    }

    void outcome(String name, Callable<?> call) {
        put(name, outcome(call));
    }

    @Override
    public String toString() {
        return json(values);
    }

    private static String json(Object value) {
        if (value instanceof Map) {
            return ((Map<?, ?>) value).entrySet().stream()
                    .map(entry -> json(String.valueOf(entry.getKey())) + ":" + json(entry.getValue()))
                    .collect(Collectors.joining(",", "{", "}"));
        }
        if (value instanceof Iterable) {
            return StreamSupport.stream(((Iterable<?>) value).spliterator(), false)
                    .map(Report::json).collect(Collectors.joining(",", "[", "]"));
        }
        if (value == null || value instanceof Number || value instanceof Boolean) {
            return String.valueOf(value);
        }
        return '"' + String.valueOf(value).replace("\\", "\\\\").replace("\"", "\\\"").replaceAll("[\\x00-\\x1f]", " ") + '"';
    }
}
