package paimark.clauses;

import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import scala.runtime.AbstractFunction1;
import scala.runtime.AbstractFunction2;
import scala.runtime.BoxedUnit;

/**
 * The clauses of time travel that Spark's grammar lacks, in anybody's Spark: {@code spark.sql.extensions} names this
 * class beside the catalog.
 */
public class LakeExtensions extends AbstractFunction1<SparkSessionExtensions, BoxedUnit> {
    @Override
    public BoxedUnit apply(SparkSessionExtensions extensions) {
        extensions.injectParser(new AbstractFunction2<>() {
            @Override
            public ParserInterface apply(SparkSession session, ParserInterface parser) {
                return new ClauseParser((org.apache.spark.sql.classic.SparkSession) session, parser);
            }
        });
        return BoxedUnit.UNIT;
    }
}
