package paimark.catalog;

import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import paimark.clauses.LakeExtensions;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/**
 * What a session needs for our catalog: {@code spark.sql.extensions} names this class.
 *
 * <p>Tables are replaced after the analysis: by then Spark has resolved names, and what it reports has them.
 */
public final class Extensions extends LakeExtensions {
    @Override
    public BoxedUnit apply(SparkSessionExtensions extensions) {
        extensions.injectPostHocResolutionRule(new AbstractFunction1<>() {
            @Override
            public Rule<LogicalPlan> apply(SparkSession session) {
                return new Swap(session);
            }
        });
        super.apply(extensions);
        extensions.injectPreCBORule(new AbstractFunction1<>() {
            @Override
            public Rule<LogicalPlan> apply(SparkSession session) {
                return new MergedKeys();
            }
        });
        return BoxedUnit.UNIT;
    }
}
