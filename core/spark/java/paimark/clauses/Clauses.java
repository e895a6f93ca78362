package paimark.clauses;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.parser.ParseException;

/**
 * The time-travel clauses of a statement, in all spellings, and options that stand for one. They are taken out of its
 * words: each belongs to what ends before it, wherever Spark's grammar has a table.
 */
final class Clauses {
    static final String BEHIND =
            "The clause stands directly behind the table's name, before its alias: t VERSION AS OF 5 AS o.";
    static final String FORMS =
            "Write VERSION AS OF 5, VERSION AS OF 'savepoint.1' or TIMESTAMP AS OF '2026-05-01 00:00:00'.";
    private static final String OPTIONS = "Write it directly behind the table's name, alone: "
            + "t /*+ OPTIONS('scan.snapshot-id' = '12') */.";
    private static final Set<String> VERSIONS = Set.of("VERSION", "SYSTEM_VERSION");
    private static final Set<String> TIMES = Set.of("TIMESTAMP", "SYSTEM_TIME");
    private static final Set<String> TYPES = Set.of("DATE", "TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ");
    private static final Set<String> OPERATORS =
            Set.of("+", "-", "*", "/", "%", "||", ".", "[", "::", "COLLATE", "DIV");
    /** Words after which no table ends. */
    private static final Set<String> NO_TABLES = Set.of(
            "SELECT", "ALL", "DISTINCT", "FROM", "JOIN", "WHERE", "ON", "AND", "OR", "NOT", "BY", "AS", "HAVING",
            "WHEN", "THEN", "ELSE", "CASE", "IN", "IS", "LIKE", "USING", "INTO", "TABLE", "UPDATE", "LATERAL", "WITH",
            "SET");
    /** Words that begin no expression: before them the time is missing. */
    static final Set<String> NO_TIMES = Set.of(
            "", ")", ",", ";", "AND", "AS", "CROSS", "EXCEPT", "FOR", "FROM", "FULL", "GROUP", "HAVING", "INNER",
            "INTERSECT", "JOIN", "LATERAL", "LEFT", "LIMIT", "MINUS", "NATURAL", "OFFSET", "ON", "OR", "ORDER", "RIGHT",
            "SELECT", "SEMI", "TABLESAMPLE", "UNION", "USING", "WHERE", "WINDOW", "WITH");

    private final Words words;
    private final Map<Integer, Clause> byEnd = new HashMap<>();
    private final List<Clause> hinted = new ArrayList<>();
    /** The last word that was not taken out. */
    private int last = -1;

    Clauses(Words words) throws ParseException {
        this.words = words;
        for (int index = 0; index < words.size(); ) {
            int behind = index;
            if (words.is(index, "/*+")) {
                behind = hint(index);
            } else if (endsTable() && starts(index)) {
                behind = put(clause(index), index);
            } else if (endsTable() && words.is(index, "WITH", "(") && isOption(index + 2)) {
                behind = put(Options.clause(words, index + 1, words.start(index)), index);
            }
            if (behind == index) {
                last = index;
                behind++;
            }
            index = behind;
        }
    }

    /** The clauses by their ends, to which the words that they follow reach now. */
    Map<Integer, Clause> byEnd() {
        return byEnd;
    }

    /** The clause of the hint OPTIONS behind a SELECT, by the number that stands for its options. */
    Clause hinted(int number) {
        return hinted.get(number);
    }

    private boolean endsTable() {
        return words.is(last, ")") || (last >= 0 && words.isName(last) && !NO_TABLES.contains(words.upper(last)));
    }

    private boolean starts(int index) {
        int subject = words.is(index, "FOR") ? index + 1 : index;
        if (VERSIONS.contains(words.upper(subject)) || TIMES.contains(words.upper(subject))) {
            return words.is(subject + 1, "AS", "OF");
        }
        // `of` may be an alias, which no literal or such keyword follows.
        return words.is(index, "AS", "OF")
                && (words.isString(index + 2)
                        || words.isNumber(index + 2)
                        || VERSIONS.contains(words.upper(index + 2))
                        || TIMES.contains(words.upper(index + 2)));
    }

    /** Whether an option begins here, and not a query. */
    private boolean isOption(int index) {
        boolean isPair = (words.isString(index) || words.isName(index)) && !words.is(index, "SELECT");
        return isPair && (words.is(index + 1, "=") || words.is(index + 1, ",") || words.is(index + 1, "."));
    }

    /** Takes a clause out; returns the index after it. */
    private int put(Clause clause, int index) {
        Clause first = byEnd.get(words.end(last));
        if (first != null) {
            String options = clause.isOption() ? ": " + first.words + " or options" : "";
            throw new Refused("A table takes one time-travel clause" + options, BEHIND, clause.start);
        }
        int behind = index;
        while (behind < words.size() && words.start(behind) < clause.end) {
            behind++;
        }
        words.take(index, behind - 1);
        words.widen(last, clause.end);
        byEnd.put(clause.end, clause);
        return behind;
    }

    private int hint(int index) {
        int end = index;
        boolean hasOptions = false;
        while (end < words.size() && !words.is(end, "*/")) {
            hasOptions |= words.is(end, "OPTIONS", "(");
            end++;
        }
        if (!hasOptions) {
            return index;
        }
        if (!words.is(index + 1, "OPTIONS")) {
            throw unplaced(words.start(index), "is not obeyed here");
        }
        Clause clause = Options.clause(words, index + 2, words.start(index));
        int closing = index + 3;
        while (words.start(closing) < clause.end) {
            closing++;
        }
        if (closing != end) {
            throw unplaced(words.start(index), "is not obeyed here");
        }
        clause.end = words.end(end);
        if (words.is(index - 1, "SELECT")) {
            // Spark's grammar takes no `=` there: a number stands for the options.
            words.take(index + 4, closing - 2);
            words.number(index + 3, hinted.size());
            hinted.add(clause);
            last = end;
            return end + 1;
        }
        if (!endsTable()) {
            throw unplaced(words.start(index), "is not obeyed here");
        }
        return put(clause, index);
    }

    static Refused unplaced(int position, String reason) {
        return new Refused("The hint OPTIONS " + reason, OPTIONS, position);
    }

    private Clause clause(int index) throws ParseException {
        int start = words.start(index);
        int subject = words.is(index, "FOR") ? index + 1 : index;
        if (words.is(index, "AS")) {
            if (!words.is(index + 2, "TIMESTAMP")) {
                throw new Refused("AS OF alone must be followed by TIMESTAMP", FORMS, words.start(index + 2));
            }
            // Before a string the keyword belongs to the literal.
            return time("AS OF TIMESTAMP", start, words.isString(index + 3) ? index + 2 : index + 3);
        }
        String named = (subject > index ? "FOR " : "") + words.upper(subject) + " AS OF";
        return VERSIONS.contains(words.upper(subject))
                ? version(named, start, subject + 3)
                : time(named, start, subject + 3);
    }

    private Clause version(String named, int start, int index) {
        String said = "The version after " + named;
        if (index >= words.size() || Set.of(")", ",", ";").contains(words.text(index))) {
            throw new Refused(said + " is missing", FORMS, words.start(index));
        }
        if (!words.isString(index) && !words.isNumber(index)) {
            throw new Refused(said + " must be a number or a name in quotes", FORMS, words.start(index));
        }
        int behind = index + 1;
        if (OPERATORS.contains(words.upper(behind)) || words.isString(behind) || words.isNumber(behind)) {
            throw new Refused(said + " must be one number or name, not an expression", FORMS, words.start(behind));
        }
        Clause clause = new Clause(named, start);
        clause.version = words.isString(index) ? words.string(index) : words.text(index);
        clause.end = words.end(index);
        return clause;
    }

    private Clause time(String named, int start, int index) throws ParseException {
        Clause clause = new Clause(named, start);
        clause.timeStart = words.start(index);
        boolean isTyped = TYPES.contains(words.upper(index)) && words.isString(index + 1);
        int behind = isTyped ? index + 1 : index;
        StringBuilder text = new StringBuilder();
        // Spark joins adjacent strings.
        while (words.isString(behind)) {
            text.append(words.string(behind++));
        }
        if (behind > index && !OPERATORS.contains(words.upper(behind))) {
            clause.literalType = isTyped ? words.upper(index) : "";
            clause.literal = text.toString();
            clause.end = words.end(behind - 1);
            return clause;
        }
        expression(clause, index);
        return clause;
    }

    private void expression(Clause clause, int index) throws ParseException {
        if (NO_TIMES.contains(words.upper(index))) {
            throw missing(clause, words.start(index));
        }
        Digits digits = new Digits(words, index);
        Grammar.Read read;
        try {
            read = Grammar.expression(words.text, words.only(digits.left()));
        } catch (ParseException error) {
            int at = positionOf(error);
            if (at >= words.start(words.size()) || NO_TIMES.contains(wordAt(at))) {
                throw missing(clause, at);
            }
            throw error;
        }
        clause.time = read.expression();
        clause.end = digits.end(read.stop());
        requireFinished(clause, index);
    }

    /** Spark's grammar takes the word of the next clause for the name of a column, if an operator is before it. */
    private void requireFinished(Clause clause, int index) {
        int depth = 0;
        for (int each = index; each < words.size() && words.start(each) < clause.end; each++) {
            depth += words.is(each, "(") ? 1 : words.is(each, ")") ? -1 : 0;
            if (depth == 0 && NO_TIMES.contains(words.upper(each)) && OPERATORS.contains(words.upper(each - 1))) {
                throw missing(clause, words.start(each));
            }
        }
    }

    static Refused missing(Clause clause, int position) {
        return new Refused("The time after " + clause.words + " is missing or unfinished", Refused.CONSTANT, position);
    }

    private int positionOf(ParseException error) {
        int line = error.start().line().isDefined() ? (Integer) error.start().line().get() : 1;
        int column = error.start().startPosition().isDefined() ? (Integer) error.start().startPosition().get() : 0;
        String[] lines = words.text.split("\n", -1);
        int position = column;
        for (int each = 0; each < line - 1; each++) {
            position += lines[each].codePointCount(0, lines[each].length()) + 1;
        }
        return position;
    }

    private String wordAt(int position) {
        for (int index = 0; index < words.size(); index++) {
            if (words.start(index) == position) {
                return words.upper(index);
            }
        }
        return "";
    }
}
