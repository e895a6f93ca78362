package paimark.clauses;

/** A clause that is not obeyed: a sentence, a hint, and the position in the statement. */
final class Refused extends IllegalArgumentException {
    static final String CONSTANT = "The time is a constant: a literal, CURRENT_TIMESTAMP or now(), intervals added or "
            + "taken away, and functions of these.";

    final String reason;
    final String hint;
    final int position;

    Refused(String reason, String hint, int position) {
        super(reason + " (at character " + (position + 1) + "). " + hint);
        this.reason = reason;
        this.hint = hint;
        this.position = position;
    }
}
