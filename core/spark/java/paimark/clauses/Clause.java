package paimark.clauses;

import org.apache.spark.sql.catalyst.expressions.Expression;

/**
 * The state of a table that a statement asks for: a clause, or options that stand for one. One of version, literal,
 * time and milliseconds is set.
 */
final class Clause {
    /** Its keywords, or the option's name. */
    final String words;
    final int start;
    int end;
    String version;
    /** The version is the name of a tag. */
    boolean isTag;
    Long millis;
    /** A text and the word before it, such as DATE. */
    String literal;
    String literalType = "";
    Expression time;
    int timeStart;

    Clause(String words, int start) {
        this.words = words;
        this.start = start;
    }

    boolean isOption() {
        return words.startsWith("scan.");
    }
}
