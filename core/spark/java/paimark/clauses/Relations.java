package paimark.clauses;

import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.analysis.UnresolvedTableOrView;
import org.apache.spark.sql.catalyst.plans.logical.DeleteFromTable;
import org.apache.spark.sql.catalyst.plans.logical.InsertIntoStatement;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MergeIntoTable;
import org.apache.spark.sql.catalyst.plans.logical.UnresolvedHint;
import org.apache.spark.sql.catalyst.plans.logical.UpdateTable;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import scala.Option;

/** Finds the tables in a plan, and the hints OPTIONS, wherever they are. */
final class Relations {
    final Map<Parsed.Use, LogicalPlan> found = new IdentityHashMap<>();
    final List<UnresolvedHint> hints = new ArrayList<>();
    final Set<Object> targets = Collections.newSetFromMap(new IdentityHashMap<>());
    boolean hasWith;
    private final Set<Object> seen = Collections.newSetFromMap(new IdentityHashMap<>());

    void walk(Object part) {
        if (part instanceof UnresolvedRelation) {
            UnresolvedRelation relation = (UnresolvedRelation) part;
            if (seen.add(part)) {
                found.put(new Parsed.Use(relation, relation.multipartIdentifier()), relation);
            }
        } else if (part instanceof UnresolvedTableOrView) {
            UnresolvedTableOrView described = (UnresolvedTableOrView) part;
            if (described.commandName().matches("(DESC|REFRESH).*") && seen.add(part)) {
                found.put(new Parsed.Use(described, described.multipartIdentifier()), described);
            }
        } else if (part instanceof scala.collection.Iterable) {
            scala.collection.Iterator<?> each = ((scala.collection.Iterable<?>) part).iterator();
            while (each.hasNext()) {
                walk(each.next());
            }
        } else if (part instanceof TreeNode ? seen.add(part) : isPart(part)) {
            note(part);
            scala.collection.Iterator<?> each = ((scala.Product) part).productIterator();
            while (each.hasNext()) {
                walk(each.next());
            }
        }
    }

    private static boolean isPart(Object part) {
        return part instanceof Option || part instanceof scala.Product2 || part instanceof scala.Product3;
    }

    private void note(Object part) {
        if (part instanceof UnresolvedHint && ((UnresolvedHint) part).name().equalsIgnoreCase("OPTIONS")) {
            hints.add((UnresolvedHint) part);
        }
        if (part instanceof InsertIntoStatement) {
            targets.add(((InsertIntoStatement) part).table());
        } else if (part instanceof UpdateTable
                || part instanceof DeleteFromTable
                || part instanceof MergeIntoTable) {
            LogicalPlan target = (LogicalPlan) ((LogicalPlan) part).children().head();
            while (!target.children().isEmpty()) {
                target = (LogicalPlan) target.children().head();
            }
            targets.add(target);
        }
        hasWith |= part.getClass().getSimpleName().equals("UnresolvedWith");
    }
}
