package paimark.library;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.table.source.DataSplit;
import org.apache.paimon.table.source.Split;

/**
 * Rows of a table with data evolution, by their ids: the files of a group have parts of the same rows. A group is named
 * by the id of its first row.
 */
final class RowGroups implements Serializable {
    private static final long serialVersionUID = 1L;

    private final long[] firsts;

    RowGroups(List<Split> splits) {
        TreeMap<Long, DataFileMeta> files = new TreeMap<>();
        for (Split split : splits) {
            for (DataFileMeta file : PackedSplits.filesOf(split)) {
                DataFileMeta other = files.putIfAbsent(file.nonNullFirstRowId(), file);
                require(other == null || other.rowCount() == file.rowCount(), file);
            }
        }
        DataFileMeta last = null;
        for (DataFileMeta file : files.values()) {
            require(last == null || last.nonNullRowIdRange().to < file.nonNullFirstRowId(), file);
            last = file;
        }
        firsts = files.keySet().stream().mapToLong(each -> each).toArray();
    }

    private static void require(boolean isRight, DataFileMeta file) {
        if (!isRight) {
            throw new IllegalStateException("Other files have some of the rows of " + file.fileName() + ", not all");
        }
    }

    /** The name of the group that has a row, which was read from one of them. */
    String of(long id) {
        int found = Arrays.binarySearch(firsts, id);
        return String.valueOf(firsts[found >= 0 ? found : -found - 2]);
    }

    /** The files of these groups. */
    static List<Split> only(List<Split> splits, Set<String> groups) {
        List<Split> found = new ArrayList<>();
        for (Split split : splits) {
            ((DataSplit) split).filterDataFile(file -> groups.contains(String.valueOf(file.firstRowId())))
                    .ifPresent(found::add);
        }
        return found;
    }
}
