package paimark.catalog;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.api.python.PythonUtils;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.EvalMode;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.expressions.Unevaluable;
import org.apache.spark.sql.catalyst.optimizer.ReplaceExpressions$;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.trees.Origin;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.types.DataTypes;
import scala.Option;
import scala.collection.immutable.Seq;

/** Evaluates constant expressions of time, without a job. */
public final class Times {
    private final SparkSession session;

    public Times(SparkSession session) {
        this.session = session;
    }

    /**
     * The microseconds since 1970 of an expression, as a text. {@code null} and {@code changes} say that it has no value
     * or another each time, {@code query 5} that there is a query at that place.
     *
     * <p>Spark's own errors have positions in {@code text}.
     */
    public String micros(String text) throws Exception {
        Expression parsed = session.sessionState().sqlParser().parseExpression(text);
        Option<Expression> query = parsed.find(Times::isQuery);
        if (query.isDefined()) {
            Origin at = query.get().origin();
            return "query " + (at.startIndex().isDefined() ? at.startIndex().get() : 0);
        }
        scala.Enumeration.Value mode = EvalMode.fromSQLConf(session.sessionState().conf());
        Expression time = new Cast(parsed, DataTypes.TimestampType, Option.empty(), mode);
        Seq<String> none = seq(new ArrayList<String>());
        NamedExpression named =
                new Alias(time, "time", NamedExpression.newExprId(), none, Option.empty(), none);
        LogicalPlan row = new LocalRelation(
                seq(new ArrayList<Attribute>()), seq(List.of(InternalRow.empty())), false, Option.empty());
        LogicalPlan asked = new Project(seq(List.of(named)), row);
        QueryExecution planned = Dataset.ofRows(session, asked).queryExecution();
        if (!planned.analyzed().expressions().forall(Expression::deterministic)) {
            return "changes";
        }
        LogicalPlan known = ReplaceExpressions$.MODULE$.apply(planned.analyzed());
        Expression value = (Expression) ((Project) known).projectList().head();
        if (value.find(each -> each instanceof Unevaluable).isEmpty()) {
            return String.valueOf(((Alias) value).child().eval(InternalRow.empty()));
        }
        // The optimiser replaces what is of the session, such as current_user().
        return String.valueOf(planned.executedPlan().executeCollect()[0].get(0, DataTypes.TimestampType));
    }

    private static boolean isQuery(Expression expression) {
        return expression instanceof SubqueryExpression;
    }

    private static <T> Seq<T> seq(List<T> items) {
        return PythonUtils.toSeq(items);
    }
}
