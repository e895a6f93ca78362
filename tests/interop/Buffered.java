import java.io.IOException;
import org.apache.paimon.fs.FileIO;
import org.apache.paimon.fs.FileIOLoader;
import org.apache.paimon.fs.Path;
import org.apache.paimon.fs.SeekableInputStream;
import org.apache.paimon.fs.local.LocalFileIO;

/**
 * Local files as Paimon has them, but manifests come in blocks.
 *
 * <p>Paimon looks for the end of a manifest's header byte by byte, and asks the system for each: two fifths of what
 * the tests' Java did.
 */
class Buffered extends LocalFileIO {
    @Override
    public SeekableInputStream newInputStream(Path path) throws IOException {
        SeekableInputStream in = super.newInputStream(path);
        return path.getParent().getName().equals("manifest") ? new Blocks(in) : in;
    }

    static final class Loader implements FileIOLoader {
        @Override
        public String getScheme() {
            return "file";
        }

        @Override
        public FileIO load(Path path) {
            return new Buffered();
        }
    }

    private static final class Blocks extends SeekableInputStream {
        private final SeekableInputStream in;
        private final byte[] block = new byte[1 << 14];
        /** Where the block is in the file, what is read of it, and how long it is. */
        private long start;
        private int next;
        private int end;

        private Blocks(SeekableInputStream in) {
            this.in = in;
        }

        @Override
        public int read() throws IOException {
            return isAtEnd() ? -1 : block[next++] & 0xff;
        }

        @Override
        public int read(byte[] into, int offset, int length) throws IOException {
            if (length == 0 || isAtEnd()) {
                return length == 0 ? 0 : -1;
            }
            int count = Math.min(length, end - next);
            System.arraycopy(block, next, into, offset, count);
            next += count;
            return count;
        }

        private boolean isAtEnd() throws IOException {
            if (next == end) {
                start += end;
                next = 0;
                end = Math.max(0, in.read(block, 0, block.length));
            }
            return end == 0;
        }

        @Override
        public void seek(long position) throws IOException {
            if (start <= position && position <= start + end) {
                next = (int) (position - start);
            } else {
                in.seek(position);
                start = position;
                next = end = 0;
            }
        }

        @Override
        public long getPos() {
            return start + next;
        }

        @Override
        public void close() throws IOException {
            in.close();
        }
    }
}
