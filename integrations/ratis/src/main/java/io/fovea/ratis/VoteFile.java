package io.fovea.ratis;

import io.fovea.replication.Position;
import java.io.IOException;
import java.io.StringReader;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.Properties;
import java.util.UUID;

/**
 * Ratis' file of the term and the vote, {@code raft-meta}, mended where a full disk has cut it.
 *
 * <p>Ratis 3.2.2 writes that file anew beside the old one and then renames it. But its stream also
 * renames when it is closed after a write that has failed ({@code AtomicFileOutputStream.close}).
 * So on a full disk the next election of any peer leaves an empty file, and the peer could not be
 * started again when there is room.
 *
 * <p><b>What the file may say then.</b> A peer must never vote twice in one term, nor follow a
 * leader of a term below one that it has promised. Both hold in a term that is <em>higher</em> than
 * all that it may have been in, so that is what is written, with a vote for the peer itself: it has
 * voted there, and for nobody else. The leader of a lower term steps down when it hears of it, and
 * one election follows. The vote that failed was not given: Ratis answers after it has written.
 *
 * <p><b>Higher than all.</b> The term of the last entry that was applied plus a million, or the
 * milliseconds of the clock, whichever is more. A term is an election, of which there are none
 * within 20 ms of another. So the first holds unless a million elections in a row have applied
 * nothing; the second lets the file be cut again before anything is applied.
 */
final class VoteFile {
  private static final System.Logger LOG = System.getLogger("io.fovea.ratis");
  private static final String TERM = "term";
  private static final String VOTE = "votedFor";
  private static final long TERMS = 1_000_000;

  private VoteFile() {}

  /**
   * Mends the file, if it is there and was cut. Before Ratis reads it.
   *
   * @param log the directory of Ratis
   * @param group the group's id
   * @param self the name of this peer
   * @param applied what its database has applied
   * @return whether it was cut
   * @throws IOException if it can't be read or written
   */
  static boolean mend(Path log, UUID group, String self, Position applied) throws IOException {
    Path directory = log.resolve(group.toString()).resolve("current");
    Path file = directory.resolve("raft-meta");
    if (!Files.exists(file) || isWhole(Files.readString(file))) {
      return false;
    }
    long term = Math.max(applied.term() + TERMS, System.currentTimeMillis());
    String text = VOTE + "=" + self + "\n" + TERM + "=" + term + "\n";
    Path fresh = directory.resolve("raft-meta.mended");
    try (FileChannel f =
        FileChannel.open(
            fresh,
            StandardOpenOption.CREATE,
            StandardOpenOption.TRUNCATE_EXISTING,
            StandardOpenOption.WRITE)) {
      ByteBuffer bytes = ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8));
      while (bytes.hasRemaining()) {
        f.write(bytes);
      }
      f.force(true);
    }
    Files.move(fresh, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    try (FileChannel d = FileChannel.open(directory, StandardOpenOption.READ)) {
      d.force(true);
    }
    LOG.log(
        System.Logger.Level.WARNING,
        "The file "
            + file
            + " of peer "
            + self
            + ", which has its term and its vote, was cut: the disk was full. The peer begins with"
            + " term "
            + term
            + ", which is higher than all that it may have been in. One election follows.");
    return true;
  }

  private static boolean isWhole(String text) {
    Properties p = new Properties();
    try {
      p.load(new StringReader(text));
      Long.parseLong(p.getProperty(TERM, ""));
    } catch (IOException | IllegalArgumentException e) {
      return false;
    }
    return p.getProperty(VOTE) != null && text.endsWith("\n");
  }
}
