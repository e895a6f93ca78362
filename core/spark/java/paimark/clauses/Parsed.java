package paimark.clauses;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.api.python.PythonUtils;
import org.apache.spark.sql.catalyst.analysis.CTESubstitution;
import org.apache.spark.sql.catalyst.analysis.RelationTimeTravel;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.analysis.UnresolvedTableOrView;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.UnresolvedHint;
import org.apache.spark.sql.catalyst.trees.TreePattern;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.command.DescribeQueryCommand;
import org.apache.spark.sql.execution.command.ExplainCommand;
import org.apache.spark.sql.types.DataTypes;
import scala.Option;

/** A statement's plan before the analysis, its tables, and the clauses that were taken out. */
final class Parsed {
    final LogicalPlan plan;
    private final Words words;
    private final Clauses clauses;
    private List<Use> uses;

    /** Without {@code words} and {@code clauses} the text has nothing but Spark's own grammar. */
    Parsed(LogicalPlan plan, Words words, Clauses clauses) {
        this.plan = plan;
        this.words = words;
        this.clauses = clauses;
    }

    /** A table that is read, and the state that is asked for. */
    static final class Use {
        final List<String> parts;
        final int start;
        final int end;
        Clause clause;

        Use(LogicalPlan node, scala.collection.immutable.Seq<String> name) {
            parts = new ArrayList<>();
            for (int part = 0; part < name.length(); part++) {
                parts.add(name.apply(part));
            }
            start = at(node.origin().startIndex());
            end = at(node.origin().stopIndex()) + 1;
        }

        private static int at(Option<Object> position) {
            return position.isDefined() ? (Integer) position.get() : -1;
        }
    }

    /** Whether its plan needs no clause of ours. */
    boolean isPlain() {
        return clauses == null || (clauses.byEnd().isEmpty() && uses().stream().allMatch(each -> each.clause == null));
    }

    /** A table's name in full, and the version that is the name of its state. */
    static final class Pin {
        private final List<String> parts = new ArrayList<>();
        private final String version;

        /** {@code json} is a list: the parts of the name, then the version. */
        Pin(JsonNode json) {
            json.forEach(part -> parts.add(part.asText()));
            version = parts.remove(parts.size() - 1);
        }
    }

    /** A part of the text as it was parsed. */
    String between(int start, int end) {
        return words.between(start, end);
    }

    String text() {
        return words == null ? "" : words.text;
    }

    /** The tables in the order of the text, without the names of WITH and the table that is written. */
    synchronized List<Use> uses() {
        if (uses == null) {
            uses = found();
        }
        return uses;
    }

    private List<Use> found() {
        Relations written = new Relations();
        written.walk(plan);
        Set<Integer> tables = new HashSet<>();
        if (written.hasWith) {
            Relations substituted = new Relations();
            substituted.walk(CTESubstitution.apply(plan));
            substituted.found.keySet().forEach(node -> tables.add(node.start));
        }
        List<Use> found = new ArrayList<>(written.found.keySet());
        found.sort(Comparator.comparingInt(each -> each.start));
        List<Use> made = new ArrayList<>();
        Set<Integer> claimed = new HashSet<>();
        for (Use use : found) {
            Clause clause = clauses == null ? null : clauses.byEnd().get(use.end);
            use.clause = clause;
            if (clause != null) {
                claimed.add(use.end);
            }
            if (written.targets.contains(written.found.get(use))) {
                if (clause != null) {
                    throw new Refused(
                            clause.words + " can't follow the table that is written: the past can't be changed",
                            "Read the past state, and write what comes of it to the table as it is now.",
                            clause.start);
                }
            } else if (!written.hasWith || tables.contains(use.start)) {
                made.add(use);
            } else if (clause != null) {
                throw new Refused(
                        use.parts.get(0) + " is a query named by WITH, which has no past states",
                        "Put the clause behind the tables inside it.",
                        clause.start);
            }
        }
        if (clauses != null) {
            clauses.byEnd().forEach((end, clause) -> {
                if (!claimed.contains(end)) {
                    throw unplaced(clause);
                }
            });
            written.hints.forEach(hint -> give(hint, made));
        }
        return made;
    }

    private Refused unplaced(Clause clause) {
        if (clause.isOption() && words.between(clause.start, clause.start + 1).equals("/")) {
            return Clauses.unplaced(clause.start, "is not obeyed here");
        }
        return words.endsParenthesis(clause.start)
                ? new Refused("Only a table has past states", Clauses.BEHIND, clause.start)
                : new Refused("The time-travel clause comes before the alias", Clauses.BEHIND, clause.start);
    }

    /** Gives the options behind a SELECT to its table. */
    private void give(UnresolvedHint hint, List<Use> made) {
        Clause clause = clauses.hinted((Integer) ((Literal) hint.parameters().head()).value());
        LogicalPlan node = hint.child();
        int blocks = 0;
        while (node.children().length() == 1 && blocks < 2) {
            String kind = node.getClass().getSimpleName();
            boolean isBlock = kind.equals("Project") || kind.equals("Aggregate");
            boolean isWith = kind.startsWith("UnresolvedWith");
            blocks += isWith ? 2 : isBlock ? 1 : 0;
            node = (LogicalPlan) node.children().head();
        }
        LogicalPlan leaf = node;
        Use use = made.stream()
                .filter(each -> leaf instanceof UnresolvedRelation && each.start == Use.at(leaf.origin().startIndex()))
                .findFirst()
                .orElse(null);
        if (blocks > 1 || use == null) {
            throw Clauses.unplaced(clause.start, "behind SELECT is obeyed where it reads one table, and no more");
        }
        if (use.clause != null) {
            throw Clauses.unplaced(clause.start, "can't stand beside a time-travel clause");
        }
        use.clause = clause;
    }

    /** The plan in which tables have these states, or else those of their own clauses. */
    LogicalPlan with(Map<Integer, Pin> pins, SparkSession session) {
        return with(plan, new Rewrite<>(new States(pins, session)::instead));
    }

    private static LogicalPlan with(LogicalPlan plan, Rewrite<LogicalPlan> rewriting) {
        if (plan instanceof ExplainCommand) {
            ExplainCommand explain = (ExplainCommand) plan;
            return explain.copy(with(explain.logicalPlan(), rewriting), explain.mode());
        }
        if (plan instanceof DescribeQueryCommand) {
            DescribeQueryCommand describe = (DescribeQueryCommand) plan;
            return describe.copy(describe.queryText(), with(describe.plan(), rewriting));
        }
        // What WITH names is not among the children before.
        boolean hasWith = plan.containsPattern(TreePattern.UNRESOLVED_WITH());
        LogicalPlan whole = hasWith ? CTESubstitution.apply(plan) : plan;
        return (LogicalPlan) whole.transformUpWithSubqueries(rewriting);
    }

    private final class States {
        private final Map<Integer, Pin> pins;
        private final Map<Integer, Use> own = new HashMap<>();
        private final SparkSession session;

        States(Map<Integer, Pin> pins, SparkSession session) {
            this.pins = pins;
            this.session = session;
            uses().forEach(use -> own.put(use.start, use));
        }

        LogicalPlan instead(LogicalPlan node) {
            boolean isRelation = node instanceof UnresolvedRelation;
            if (!isRelation && !(node instanceof UnresolvedTableOrView)) {
                return null;
            }
            int start = Use.at(node.origin().startIndex());
            Pin pin = pins.get(start);
            if (pin != null && isRelation) {
                UnresolvedRelation relation = (UnresolvedRelation) node;
                LogicalPlan named =
                        relation.copy(PythonUtils.toSeq(pin.parts), relation.options(), relation.isStreaming());
                return new RelationTimeTravel(named, Option.empty(), Option.apply(pin.version));
            }
            if (pin != null) {
                UnresolvedTableOrView described = (UnresolvedTableOrView) node;
                List<String> name = List.of(pin.parts.get(0), pin.version);
                return new UnresolvedTableOrView(PythonUtils.toSeq(name), described.commandName(), false);
            }
            Clause clause = own.containsKey(start) && isRelation ? own.get(start).clause : null;
            if (clause == null) {
                return null;
            }
            return clause.version != null
                    ? new RelationTimeTravel(node, Option.empty(), Option.apply(clause.version))
                    : new RelationTimeTravel(node, Option.apply(time(clause)), Option.empty());
        }

        private Expression time(Clause clause) {
            if (clause.millis != null) {
                return new Literal(clause.millis * 1000, DataTypes.TimestampType);
            }
            return clause.time == null
                    ? Literal.create(clause.literal, DataTypes.StringType)
                    : new Times(session, System.currentTimeMillis()).known(clause.time);
        }
    }
}
