package paimark.clauses;

import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import paimark.catalog.DeleteAll;
import paimark.catalog.InsertingMerges;
import paimark.catalog.Lossless;
import scala.runtime.AbstractFunction1;
import scala.runtime.AbstractFunction2;
import scala.runtime.BoxedUnit;

/**
 * In anybody's Spark the clauses of time travel that Spark's grammar lacks, and what keeps values whole that are
 * written: {@code spark.sql.extensions} names this class beside the catalog.
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
        extensions.injectPostHocResolutionRule(new AbstractFunction1<>() {
            @Override
            public Rule<LogicalPlan> apply(SparkSession session) {
                return new Lossless();
            }
        });
        extensions.injectPostHocResolutionRule(new AbstractFunction1<>() {
            @Override
            public Rule<LogicalPlan> apply(SparkSession session) {
                return new DeleteAll();
            }
        });
        extensions.injectPostHocResolutionRule(new AbstractFunction1<>() {
            @Override
            public Rule<LogicalPlan> apply(SparkSession session) {
                return new InsertingMerges();
            }
        });
        return BoxedUnit.UNIT;
    }
}
