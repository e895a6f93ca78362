package paimark.clauses;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * Reads options that name one state, as Flink and Spark write them: {@code OPTIONS('scan.snapshot-id' = '12')}. All
 * others are refused by name: nothing here obeys them.
 */
final class Options {
    private static final List<String> STATES =
            List.of("scan.snapshot-id", "scan.tag-name", "scan.version", "scan.timestamp", "scan.timestamp-millis");

    private final Words words;
    private final List<String> names = new ArrayList<>();
    private final List<Integer> positions = new ArrayList<>();
    private String value;
    private int valueAt;
    private int index;

    private Options(Words words, int index) {
        this.words = words;
        this.index = index;
    }

    /** The clause for the options in the parenthesis at {@code opening}; its end is the one of the parenthesis. */
    static Clause clause(Words words, int opening, int start) {
        return new Options(words, opening).read(start);
    }

    private Clause read(int start) {
        expect("(");
        do {
            index += names.isEmpty() ? 0 : 1;
            positions.add(words.start(index));
            names.add(word().strip().toLowerCase(Locale.ROOT));
            if (!words.is(index, "=") && !words.is(index, ",")) {
                throw refused();
            }
            index++;
            valueAt = index;
            value = word().strip();
        } while (words.is(index, ","));
        expect(")");
        for (int each = 0; each < names.size(); each++) {
            if (!STATES.contains(names.get(each))) {
                throw new Refused(
                        "The option " + names.get(each) + " is not obeyed here",
                        "Name the state to read by VERSION AS OF or TIMESTAMP AS OF, and a branch in the name: "
                                + "`t$branch_b`. Of options one of these is obeyed: " + String.join(", ", STATES) + ".",
                        positions.get(each));
            }
        }
        if (names.size() > 1) {
            String both = String.join(" and ", names);
            throw new Refused(both + " each name the state to read", "Give one of them.", positions.get(1));
        }
        Clause clause = new Clause(names.get(0), start);
        clause.end = words.end(index - 1);
        fill(clause);
        return clause;
    }

    private void fill(Clause clause) {
        int position = words.start(valueAt);
        clause.timeStart = position;
        switch (clause.words) {
            case "scan.timestamp":
                if (!words.isString(valueAt)) {
                    throw new Refused("scan.timestamp is a text", "Write it in quotes.", position);
                }
                clause.literal = value;
                break;
            case "scan.timestamp-millis":
                if (!value.matches("-*[0-9]{1,18}")) {
                    String reason = "scan.timestamp-millis is a number of milliseconds";
                    throw new Refused(reason, "It counts from 1970 in UTC.", position);
                }
                clause.millis = Long.valueOf(value);
                break;
            case "scan.snapshot-id":
                // A number is a snapshot, even if a tag has that name.
                clause.version = value.matches("[0-9]+") ? "snapshot." + value : value;
                break;
            default:
                clause.version = value;
                clause.isTag = clause.words.equals("scan.tag-name");
        }
    }

    /** The text of a string, a number, or words with dots between them. */
    private String word() {
        if (words.isString(index)) {
            return words.string(index++);
        }
        if (!words.isName(index)) {
            throw refused();
        }
        StringBuilder text = new StringBuilder(words.text(index++));
        while (words.is(index, ".") && words.isName(index + 1)) {
            text.append('.').append(words.text(index + 1));
            index += 2;
        }
        return text.toString();
    }

    private void expect(String symbol) {
        if (!words.is(index, symbol)) {
            throw refused();
        }
        index++;
    }

    private Refused refused() {
        return new Refused(
                "Options are pairs of names and values in quotes",
                "Write OPTIONS('scan.snapshot-id' = '12').",
                words.start(Math.min(index, words.size() - 1)));
    }
}
