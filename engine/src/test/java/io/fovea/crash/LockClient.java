package io.fovea.crash;

import io.fovea.Database;
import io.fovea.FileChanges;
import io.fovea.FileDump;
import io.fovea.FileReport;
import io.fovea.Options;
import io.fovea.Table;
import io.fovea.error.DatabaseLockedException;
import io.fovea.schema.TableSpec;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A process that opens a database and executes commands: a line in, a line out. */
public final class LockClient {
  private static final TableSpec SPEC = TableSpec.bytes("b", 20);

  private static @Nullable Database db;

  private LockClient() {}

  private static Options options(boolean write) {
    return Options.defaults()
        .bufferBytes(4 << 20)
        .readOnly(!write)
        .log(
            l ->
                l.bufferBytes(64 << 10)
                    .segmentBytes(64 << 10)
                    .maxBytes(1 << 20)
                    .changeRetentionBytes(256 << 10));
  }

  /** Opens and closes: returns "opened", or the holder. Also called from other class loaders. */
  public static String attempt(String file, boolean write) {
    try (Database other = Database.open(Path.of(file), options(write))) {
      return other.isOpen() ? "opened" : "closed";
    } catch (DatabaseLockedException e) {
      return "locked";
    }
  }

  private static String elsewhere(String file, boolean write) throws Exception {
    List<URL> urls = new ArrayList<>();
    for (String p : System.getProperty("java.class.path").split(":")) {
      urls.add(Path.of(p).toUri().toURL());
    }
    try (URLClassLoader copy =
        new URLClassLoader(urls.toArray(new URL[0]), ClassLoader.getPlatformClassLoader())) {
      return (String)
          copy.loadClass(LockClient.class.getName())
              .getMethod("attempt", String.class, boolean.class)
              .invoke(null, file, write);
    }
  }

  private static String copy(String file) throws IOException {
    Path to = Files.createTempFile("fovea", ".copy");
    Files.copy(Path.of(file), to, java.nio.file.StandardCopyOption.REPLACE_EXISTING);
    Files.delete(to);
    return "copied";
  }

  private static String put(String key) {
    Table<byte[], byte[]> t = open().table(SPEC).bytes();
    open().run(tx -> t.put(tx, key.getBytes(StandardCharsets.UTF_8), new byte[2000]));
    return "put";
  }

  private static Database open() {
    if (db == null) {
      throw new IllegalStateException("not open");
    }
    return db;
  }

  private static String answer(String[] said) throws Exception {
    String file = said[1];
    switch (said[0]) {
      case "write", "read" -> {
        try {
          db = Database.open(Path.of(file), options(said[0].equals("write")));
          return "opened";
        } catch (DatabaseLockedException e) {
          return "locked by " + e.holderPid();
        }
      }
      case "put" -> {
        return put(said[1]);
      }
      case "count" -> {
        return open().verify().ok() + " " + open().table(SPEC).count();
      }
      case "close" -> {
        open().close();
        db = null;
        return "closed";
      }
      case "refused" -> {
        return attempt(file, true);
      }
      case "loader" -> {
        return elsewhere(file, true);
      }
      case "reader" -> {
        return elsewhere(file, false);
      }
      case "dump" -> {
        FileDump.open(Path.of(file)).close();
        return "dumped";
      }
      case "changes" -> {
        FileChanges.first(Path.of(file)).close();
        return "followed";
      }
      case "verify" -> {
        try {
          return "verified " + FileReport.verify(Path.of(file), Options.defaults()).ok();
        } catch (DatabaseLockedException e) {
          return "locked";
        }
      }
      case "copy" -> {
        return copy(file);
      }
      case "nothing" -> {
        return "nothing";
      }
      default -> throw new IllegalArgumentException(said[0]);
    }
  }

  public static void main(String[] args) throws Exception {
    BufferedReader in =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line; (line = in.readLine()) != null; ) {
      String answer;
      try {
        answer = answer(line.split(" ", 2));
      } catch (Throwable t) {
        t.printStackTrace();
        answer = t.toString().replace('\n', ' ');
      }
      System.out.println("= " + answer);
      System.out.flush();
    }
  }
}
