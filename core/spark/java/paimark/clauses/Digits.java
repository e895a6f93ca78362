package paimark.clauses;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.antlr.v4.runtime.CommonToken;
import org.antlr.v4.runtime.Token;

/**
 * The digits after the second in a time, which Spark's grammar has not: {@code CURRENT_TIMESTAMP(3)}, {@code CAST(x AS
 * TIMESTAMP(3) WITH LOCAL TIME ZONE)}. A time has milliseconds here: from three on they change nothing.
 */
final class Digits {
    static final Set<String> PRESENT =
            Set.of("CURRENT_TIMESTAMP", "NOW", "CURRENT_DATE", "CURDATE", "LOCALTIMESTAMP");

    private final Words words;
    private final List<Token> left = new ArrayList<>();
    /** By the start of the word before them: the position after the words that were left out. */
    private final TreeMap<Integer, Integer> found = new TreeMap<>();

    /** Those of the words from {@code first} on. */
    Digits(Words words, int first) {
        this.words = words;
        for (int index = first; index < words.size(); index++) {
            String word = words.upper(index);
            boolean isType = word.startsWith("TIMESTAMP") && (words.is(index - 1, "AS") || words.is(index - 1, "::"));
            boolean isPresent = PRESENT.contains(word) && !words.is(index - 1, ".");
            boolean hasDigits = (isType || isPresent)
                    && words.is(index + 1, "(")
                    && words.isNumber(index + 2)
                    && words.is(index + 3, ")");
            int behind = hasDigits ? index + 4 : index + 1;
            String zoned = isType && word.equals("TIMESTAMP") ? zoned(behind) : "";
            if (!zoned.isEmpty()) {
                behind += zoned.equals("TIMESTAMP_LTZ") ? 4 : 3;
            }
            left.add(zoned.isEmpty() ? words.token(index) : renamed(words.token(index), zoned));
            if (hasDigits && !words.text(index + 2).matches("[3-9]")) {
                throw new Refused(
                        words.text(index + 2) + " digits after the second can't be had",
                        "Write 3 to 9 digits, or none: date_trunc('SECOND', ...) cuts a time.",
                        words.start(index));
            }
            if (behind > index + 1) {
                found.put(words.start(index), words.end(behind - 1));
                index = behind - 1;
            }
        }
    }

    private String zoned(int index) {
        return words.is(index, "WITH", "LOCAL", "TIME", "ZONE")
                ? "TIMESTAMP_LTZ"
                : words.is(index, "WITHOUT", "TIME", "ZONE") ? "TIMESTAMP_NTZ" : "";
    }

    private static Token renamed(Token token, String type) {
        CommonToken made = new CommonToken(new Words(type).token(0));
        made.setStartIndex(token.getStartIndex());
        made.setStopIndex(token.getStopIndex());
        made.setLine(token.getLine());
        made.setCharPositionInLine(token.getCharPositionInLine());
        made.setText(type);
        return made;
    }

    List<Token> left() {
        return left;
    }

    /** The position after an expression whose last character in Spark's grammar is at {@code stop}. */
    int end(int stop) {
        Map.Entry<Integer, Integer> last = found.floorEntry(stop);
        return last == null ? stop + 1 : Math.max(stop + 1, last.getValue());
    }
}
