package paimark.clauses;

import java.util.Set;

/** Better words for what Spark's grammar does not know. */
final class Faults {
    private static final Set<String> STATES = Set.of("VERSION", "SYSTEM_VERSION", "TIMESTAMP", "SYSTEM_TIME");
    private static final Set<String> PERIODS = Set.of("FROM", "BETWEEN", "CONTAINED", "ALL");

    private Faults() {}

    /** Throws {@code Refused} if a statement that can't be parsed has one of these. */
    static void explain(Words words) {
        for (int index = 0; index < words.size(); index++) {
            boolean isClause = words.is(index + 2, "AS", "OF");
            if (isClause || !words.is(index, "FOR") || !STATES.contains(words.upper(index + 1))) {
                continue;
            }
            String named = "FOR " + words.upper(index + 1);
            if (PERIODS.contains(words.upper(index + 2))) {
                throw new Refused(
                        named + " " + words.upper(index + 2) + " is a period, and time travel reads one state",
                        "Read the states one by one, each with FOR SYSTEM_TIME AS OF a constant time.",
                        words.start(index));
            }
            throw new Refused(named + " must be followed by AS OF", Clauses.FORMS, words.start(index));
        }
    }
}
