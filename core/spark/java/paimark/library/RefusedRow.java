package paimark.library;

import org.apache.spark.QueryContext;
import org.apache.spark.SparkRuntimeException;
import scala.collection.immutable.Map$;

/** Why a task does not write a row, so that Spark shows the sentence and not where in the job it was. */
final class RefusedRow {
    private static final String CONDITION = "USER_RAISED_EXCEPTION";

    private RefusedRow() {}

    static SparkRuntimeException of(String sentence) {
        scala.collection.immutable.Map<String, String> none = Map$.MODULE$.empty();
        return new SparkRuntimeException(CONDITION, none.updated("errorMessage", sentence), null, new QueryContext[0], "");
    }
}
