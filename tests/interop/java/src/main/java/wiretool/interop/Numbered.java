package wiretool.interop;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;

/** The same numbered events as numbered.py: {@code KEY NUMBER PADDING}, the numbers of a key counting up from 0. */
final class Numbered {
    static final class Event {
        final String key;
        final String text;

        Event(String key, String text) {
            this.key = key;
            this.text = text;
        }
    }

    private static final Pattern EVENT = Pattern.compile("\\S+ -?\\d{1,9}( .*)?", Pattern.DOTALL);

    private Numbered() {
    }

    /** {@code count} events in turn over the keys; {@code first} is where the numbers of each key begin. */
    static List<Event> events(int count, int keys, int sizeBytes, int first) {
        List<Event> events = new ArrayList<>(count);
        for (int index = 0; index < count; index++) {
            String key = "key" + index % keys;
            events.add(new Event(key, pad(key + " " + (first + index / keys) + " ", sizeBytes)));
        }
        return events;
    }

    static String pad(String text, int sizeBytes) {
        char[] rest = new char[Math.max(0, sizeBytes - text.length())];
        Arrays.fill(rest, 'x');
        return text + new String(rest);
    }

    static Map<String, List<Integer>> sequences(List<String> events) {
        Map<String, List<Integer>> sequences = new TreeMap<>();
        for (String event : events) {
            Report.check(EVENT.matcher(event).matches(), "not a numbered event: " + event);
            String[] parts = event.split(" ", 3);
            sequences.computeIfAbsent(parts[0], key -> new ArrayList<>()).add(Integer.parseInt(parts[1]));
        }
        return sequences;
    }

    /** Report events that were read, and hold them to be there once and in the order of their keys. */
    static void seen(Report report, List<String> events) {
        Map<String, List<Integer>> sequences = sequences(events);
        report.put("count", events.size());
        report.put("sequences", sequences);
        report.put("digest", digest(events));
        sequences.forEach((key, numbers) -> {
            for (int index = 0; index < numbers.size(); index++) {
                Report.check(numbers.get(index) == index, key + " has number " + numbers.get(index) + " at place " + index);
            }
        });
    }

    static String digest(List<String> events) {
        List<String> sorted = new ArrayList<>(events);
        sorted.sort(null);
        return sha256(String.join("\n", sorted).getBytes(StandardCharsets.UTF_8));
    }

    static String sha256(byte[] data) {
        try {
            StringBuilder text = new StringBuilder();
            for (byte octet : MessageDigest.getInstance("SHA-256").digest(data)) {
                text.append(String.format("%02x", octet));
            }
            return text.toString();
        } catch (NoSuchAlgorithmException impossible) {
            throw new AssertionError(impossible);
        }
    }
}
