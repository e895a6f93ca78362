import java.io.File;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.MiniDFSCluster;

/** A NameNode and two DataNodes in the directory given; says the NameNode's port, and ends with a process. */
public class MiniHdfs {
    public static void main(String[] arguments) throws Exception {
        Configuration configuration = new Configuration();
        configuration.set(MiniDFSCluster.HDFS_MINIDFS_BASEDIR, new File(arguments[0]).getAbsolutePath());
        configuration.setBoolean("dfs.permissions.enabled", false);
        // With two of them a file's end need not wait for their reports; clients ask again only half a second later.
        configuration.setInt("dfs.namenode.file.close.num-committed-allowed", 1);
        MiniDFSCluster cluster = new MiniDFSCluster.Builder(configuration).numDataNodes(2).build();
        cluster.waitActive();
        System.out.println(cluster.getNameNodePort());
        ProcessHandle.of(Long.parseLong(arguments[1])).ifPresent(each -> each.onExit().join());
        // Nobody needs what is in it.
        Runtime.getRuntime().halt(0);
    }
}
