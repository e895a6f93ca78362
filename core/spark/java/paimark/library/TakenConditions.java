package paimark.library;

import java.util.ArrayList;
import java.util.List;
import org.apache.paimon.predicate.Predicate;
import org.apache.paimon.predicate.PredicateBuilder;
import org.apache.paimon.types.RowType;

/** The conditions that a scan takes from Spark, as Paimon's. */
final class TakenConditions {
    private final PushedConditions converter;
    private final List<Predicate> all = new ArrayList<>();
    /** Those of them that files are asked too. */
    private final List<Predicate> ofFiles = new ArrayList<>();
    private final List<org.apache.spark.sql.connector.expressions.filter.Predicate> pushed = new ArrayList<>();

    TakenConditions(RowType row) {
        converter = new PushedConditions(row);
    }

    /** Whether Paimon has such a condition. */
    boolean takes(org.apache.spark.sql.connector.expressions.filter.Predicate given) {
        return converter.of(given).map(condition -> {
            all.add(condition);
            pushed.add(given);
            if (converter.isForFiles(condition)) {
                ofFiles.add(condition);
            }
            return true;
        }).orElse(false);
    }

    List<Predicate> list() {
        return all;
    }

    /** All together; null for none. */
    Predicate all() {
        return all.isEmpty() ? null : PredicateBuilder.and(all);
    }

    int countOfFiles() {
        return ofFiles.size();
    }

    /** Those that files are asked, together; null for none. */
    Predicate ofFiles() {
        return ofFiles.isEmpty() ? null : PredicateBuilder.and(ofFiles);
    }

    org.apache.spark.sql.connector.expressions.filter.Predicate[] pushed() {
        return pushed.toArray(new org.apache.spark.sql.connector.expressions.filter.Predicate[0]);
    }
}
