import java.io.File;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hdfs.DistributedFileSystem;
import org.apache.hadoop.hdfs.MiniDFSCluster;
import org.apache.hadoop.hdfs.MiniDFSNNTopology;
import org.apache.hadoop.hdfs.protocol.HdfsConstants;

/**
 * A NameNode and two DataNodes in the directory given, and a NameNode in safe mode; says the ports of both, and ends with
 * a process. Below /few are at most 40 names, below /small at most a block.
 */
public class MiniHdfs {
    public static void main(String[] arguments) throws Exception {
        Configuration configuration = new Configuration();
        configuration.set(MiniDFSCluster.HDFS_MINIDFS_BASEDIR, new File(arguments[0], "data").getAbsolutePath());
        configuration.setBoolean("dfs.permissions.enabled", false);
        // With two of them a file's end need not wait for their reports; clients ask again only half a second later.
        configuration.setInt("dfs.namenode.file.close.num-committed-allowed", 1);
        MiniDFSCluster cluster = new MiniDFSCluster.Builder(configuration)
            .nnTopology(MiniDFSNNTopology.simpleFederatedTopology(2)).numDataNodes(2).build();
        cluster.waitActive();
        DistributedFileSystem files = cluster.getFileSystem(0);
        files.mkdirs(new Path("/few"));
        files.setQuota(new Path("/few"), 40, HdfsConstants.QUOTA_DONT_SET);
        files.mkdirs(new Path("/small"));
        files.setQuota(new Path("/small"), HdfsConstants.QUOTA_DONT_SET, 1 << 20);
        cluster.getFileSystem(1).mkdirs(new Path("/lake"));
        cluster.getNameNode(1).getRpcServer().setSafeMode(HdfsConstants.SafeModeAction.SAFEMODE_ENTER, false);
        System.out.println(cluster.getNameNodePort(0) + " " + cluster.getNameNodePort(1));
        ProcessHandle.of(Long.parseLong(arguments[1])).ifPresent(each -> each.onExit().join());
        // Nobody needs what is in it.
        Runtime.getRuntime().halt(0);
    }
}
