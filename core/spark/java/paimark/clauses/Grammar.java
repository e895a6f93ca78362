package paimark.clauses;

import java.util.concurrent.Callable;
import org.antlr.v4.runtime.CommonTokenStream;
import org.antlr.v4.runtime.TokenSource;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.parser.AbstractParser;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.catalyst.parser.SqlBaseParser;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.CurrentOrigin$;
import org.apache.spark.sql.catalyst.trees.Origin;
import org.apache.spark.sql.execution.SparkSqlParser;
import org.apache.spark.sql.internal.SqlApiConf$;
import scala.Function1;
import scala.Option;

/** Spark's grammar over words of which some were taken out. */
final class Grammar extends SparkSqlParser {
    private final String text;
    private final TokenSource words;

    private Grammar(String text, TokenSource words) {
        this.text = text;
        this.words = words;
    }

    static LogicalPlan plan(Words words) throws ParseException {
        Grammar grammar = new Grammar(words.text, words.left());
        return named(words.text, () -> grammar.parsePlan(words.text));
    }

    /** What the parser gives; its error has the statement. */
    private static <T> T named(String text, Callable<T> parser) throws ParseException {
        try {
            return parser.call();
        } catch (ParseException error) {
            throw error.command().isDefined() ? error : error.withCommand(text);
        } catch (RuntimeException error) {
            throw error;
        } catch (Exception error) {
            throw new IllegalStateException(error);
        }
    }

    @Override
    public <T> T parse(String command, Function1<SqlBaseParser, T> toResult) {
        CommonTokenStream stream = new CommonTokenStream(words);
        SqlBaseParser parser = new SqlBaseParser(stream);
        AbstractParser.configureParser(parser, text, stream, SqlApiConf$.MODULE$.get());
        return AbstractParser.executeWithTwoStageStrategy(parser, stream, toResult);
    }

    /** The longest expression with which the {@code words} begin. */
    static Read expression(String text, TokenSource words) throws ParseException {
        Grammar grammar = new Grammar(text, words);
        Origin before = CurrentOrigin$.MODULE$.get();
        try {
            CurrentOrigin$.MODULE$.set(before.copy(
                    before.line(),
                    before.startPosition(),
                    before.startIndex(),
                    before.stopIndex(),
                    Option.apply(text),
                    before.objectType(),
                    before.objectName(),
                    before.stackTrace(),
                    before.pysparkErrorContext(),
                    before.positionMapper()));
            return named(text, () -> grammar.parse(text, new scala.runtime.AbstractFunction1<SqlBaseParser, Read>() {
                @Override
                public Read apply(SqlBaseParser parser) {
                    SqlBaseParser.ValueExpressionContext read = parser.valueExpression();
                    return new Read((Expression) grammar.astBuilder().visit(read), read.getStop().getStopIndex());
                }
            }));
        } finally {
            CurrentOrigin$.MODULE$.set(before);
        }
    }

    /** An expression, and the position of its last character. */
    record Read(Expression expression, int stop) {}
}
