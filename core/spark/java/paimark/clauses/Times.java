package paimark.clauses;

import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.apache.spark.api.python.PythonUtils;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute;
import org.apache.spark.sql.catalyst.analysis.UnresolvedFunction;
import org.apache.spark.sql.catalyst.analysis.UnresolvedFunction$;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.EvalMode;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.expressions.Unevaluable;
import org.apache.spark.sql.catalyst.optimizer.ReplaceExpressions$;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.types.DataTypes;
import scala.Option;
import scala.collection.immutable.Seq;

/** Evaluates the times of clauses, all as of one present, without a job. */
final class Times {
    private final SparkSession session;
    private final long now;

    /** {@code now} is in milliseconds since 1970. */
    Times(SparkSession session, long now) {
        this.session = session;
        this.now = now;
    }

    /** The milliseconds since 1970, rounded down. Throws {@code Refused} for what is no constant time. */
    long millis(Clause clause, String text) {
        Option<Expression> query = clause.time.find(each -> each instanceof SubqueryExpression);
        if (query.isDefined()) {
            throw refused("A query can't give the time of a time travel", start(query.get(), clause));
        }
        Expression known = known(clause.time);
        Option<Expression> column = known.find(each -> each instanceof UnresolvedAttribute);
        if (column.isDefined()) {
            int start = start(column.get(), clause);
            int stop = column.get().origin().stopIndex().isDefined()
                    ? (Integer) column.get().origin().stopIndex().get() + 1
                    : start;
            String name = text.substring(text.offsetByCodePoints(0, start), text.offsetByCodePoints(0, stop));
            if (Clauses.NO_TIMES.contains(name.toUpperCase(Locale.ROOT))) {
                throw Clauses.missing(clause, start);
            }
            String reason = " names a column: that is a temporal join, not time travel";
            throw refused(clause.words + " " + name + reason, start);
        }
        Object micros = evaluated(known, clause);
        if (micros == null) {
            throw refused("The time after " + clause.words + " is NULL", clause.timeStart);
        }
        long millis = Math.floorDiv((Long) micros, 1000L);
        if (millis < -62_135_596_800_000L || millis >= 253_402_300_800_000L) {
            throw new Refused(
                    "The time is outside the years 1 to 9999",
                    "A number counts seconds since 1970: timestamp_millis(n) takes milliseconds.",
                    clause.timeStart);
        }
        return millis;
    }

    private static Refused refused(String reason, int position) {
        return new Refused(reason, Refused.CONSTANT, position);
    }

    private static int start(Expression expression, Clause clause) {
        Option<Object> start = expression.origin().startIndex();
        return start.isDefined() ? (Integer) start.get() : clause.timeStart;
    }

    /** The expression with the present, and with Spark's functions for those that only Flink has. */
    Expression known(Expression expression) {
        return (Expression) expression.transformUp(new Rewrite<>(this::replacement));
    }

    private Object evaluated(Expression expression, Clause clause) {
        scala.Enumeration.Value mode = EvalMode.fromSQLConf(session.sessionState().conf());
        Expression time = new Cast(expression, DataTypes.TimestampType, Option.empty(), mode);
        Seq<String> none = seq(new ArrayList<String>());
        NamedExpression named =
                new Alias(time, "time", NamedExpression.newExprId(), none, Option.empty(), none);
        LogicalPlan row = new LocalRelation(
                seq(new ArrayList<Attribute>()), seq(List.of(InternalRow.empty())), false, Option.empty());
        QueryExecution planned = Dataset.ofRows(session, new Project(seq(List.of(named)), row)).queryExecution();
        if (!planned.analyzed().expressions().forall(Expression::deterministic)) {
            throw refused("The time after " + clause.words + " is another each time", clause.timeStart);
        }
        LogicalPlan known = ReplaceExpressions$.MODULE$.apply(planned.analyzed());
        Expression value = (Expression) ((Project) known).projectList().head();
        if (value.find(each -> each instanceof Unevaluable).isEmpty()) {
            return ((Alias) value).child().eval(InternalRow.empty());
        }
        // The optimiser replaces what is of the session, such as current_user().
        return planned.executedPlan().executeCollect()[0].get(0, DataTypes.TimestampType);
    }

    private static <T> Seq<T> seq(List<T> items) {
        return PythonUtils.toSeq(items);
    }

    private Expression replacement(Expression each) {
        if (each instanceof UnresolvedAttribute) {
            Seq<String> parts = ((UnresolvedAttribute) each).nameParts();
            return parts.length() == 1 ? present(parts.head()) : null;
        }
        if (!(each instanceof UnresolvedFunction) || ((UnresolvedFunction) each).nameParts().length() > 1) {
            return null;
        }
        UnresolvedFunction call = (UnresolvedFunction) each;
        String name = call.nameParts().head().toUpperCase(Locale.ROOT);
        Seq<Expression> arguments = call.arguments();
        if (arguments.isEmpty()) {
            return present(name);
        }
        if (!name.equals("TO_TIMESTAMP_LTZ") || arguments.length() != 2) {
            return null;
        }
        String digits = arguments.apply(1).toString();
        String counted = digits.equals("0") ? "timestamp_seconds" : digits.equals("3") ? "timestamp_millis" : "";
        return counted.isEmpty()
                ? null
                : UnresolvedFunction$.MODULE$.apply(counted, seq(List.of(arguments.head())), false);
    }

    private Expression present(String name) {
        String word = name.toUpperCase(Locale.ROOT);
        if (!Digits.PRESENT.contains(word)) {
            return null;
        }
        ZoneId zone = ZoneId.of(session.sessionState().conf().sessionLocalTimeZone(), ZoneId.SHORT_IDS);
        LocalDateTime here = LocalDateTime.ofInstant(Instant.ofEpochMilli(now), zone);
        if (word.equals("LOCALTIMESTAMP")) {
            long local = here.toInstant(ZoneOffset.UTC).toEpochMilli() * 1000;
            return new Literal(local, DataTypes.TimestampNTZType);
        }
        return word.endsWith("DATE")
                ? new Literal((int) here.toLocalDate().toEpochDay(), DataTypes.DateType)
                : new Literal(now * 1000, DataTypes.TimestampType);
    }
}
