package paimark.clauses;

import java.util.function.Function;
import scala.Function1;
import scala.runtime.AbstractPartialFunction;

/** A rule for the nodes of a tree of Spark's: what comes in the place of one; null: it stays. */
public final class Rewrite<T> extends AbstractPartialFunction<T, T> {
    private final Function<T, T> instead;

    public Rewrite(Function<T, T> instead) {
        this.instead = instead;
    }

    @Override
    public boolean isDefinedAt(T node) {
        return instead.apply(node) != null;
    }

    @Override
    @SuppressWarnings("unchecked")
    public <A extends T, B> B applyOrElse(A node, Function1<A, B> otherwise) {
        T found = instead.apply(node);
        return found == null ? otherwise.apply(node) : (B) found;
    }
}
