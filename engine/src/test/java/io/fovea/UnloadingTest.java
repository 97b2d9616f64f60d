package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.fovea.config.Durability;
import io.fovea.schema.TableSpec;
import java.io.IOException;
import java.lang.ref.WeakReference;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BiConsumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * A redeployed application leaves nothing of the engine behind: although long-lived threads have
 * used its databases, its class loader is collected.
 */
@Timeout(120)
class UnloadingTest {
  @TempDir Path dir;

  /** The work of an application, in another class loader. */
  public static final class Application implements BiConsumer<Path, ExecutorService> {
    @Override
    public void accept(Path dir, ExecutorService pool) {
      TableSpec spec = TableSpec.bytes("t", 20);
      for (Durability d : Durability.values()) {
        Options options = Options.defaults().bufferBytes(4 << 20).durability(d);
        for (boolean file : new boolean[] {true, false}) {
          Database db =
              file ? Database.open(dir.resolve(d + ".fovea"), options) : Database.inMemory(options);
          try (db) {
            Table<byte[], byte[]> t = db.table(spec).bytes();
            db.run(tx -> t.put(tx, new byte[] {1}, new byte[30_000]));
            db.runPipelined(tx -> t.put(tx, new byte[] {2}, new byte[3])).await();
            db.submit(TxOptions.defaults(), pool, tx -> t.get(tx, new byte[] {1}))
                .toCompletableFuture()
                .join();
            db.read(
                tx -> {
                  try (Cursor<byte[], byte[]> c = t.scan(tx, null, null, ScanOrder.ASCENDING)) {
                    return c.next();
                  }
                });
            try (Transaction tx = db.begin(TxOptions.defaults().pessimisticAfterAborts(0))) {
              t.delete(tx, new byte[] {2});
              tx.commit();
            }
            try (Database moment = db.snapshot()) {
              moment.table(spec).count();
            }
            db.sequence("s").next();
            db.verify();
            Transaction left = db.begin();
            t.put(left, new byte[] {9}, new byte[1]);
            db.close();
            left.close();
          }
        }
      }
    }
  }

  /**
   * In a JVM that clears soft references at each collection: the JDK's caches of method handles
   * hold classes softly, such as records that were compared.
   */
  @Test
  void theClassLoaderIsCollected() throws Exception {
    Path log = dir.resolve("log");
    Process jvm =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx256m",
                "-XX:+UseSerialGC",
                "-XX:SoftRefLRUPolicyMSPerMB=0",
                "--enable-native-access=ALL-UNNAMED",
                "-cp",
                System.getProperty(
                    "surefire.test.class.path", System.getProperty("java.class.path")),
                UnloadingTest.class.getName(),
                dir.toString())
            .redirectErrorStream(true)
            .redirectOutput(log.toFile())
            .start();
    try {
      assertEquals(0, jvm.waitFor(), () -> "the class loader was not collected\n" + text(log));
    } finally {
      jvm.destroyForcibly();
    }
  }

  private static String text(Path log) {
    try {
      return Files.readString(log);
    } catch (IOException e) {
      return e.toString();
    }
  }

  /** Deploys and undeploys the application; exits with 1 if its class loader stays. */
  public static void main(String[] args) throws Exception {
    int status = 0;
    ExecutorService pool = Executors.newFixedThreadPool(2);
    WeakReference<ClassLoader> loader = deploy(Path.of(args[0]), pool);
    for (int i = 0; i < 300 && loader.get() != null; i++) {
      System.gc();
      LockSupport.parkNanos(10_000_000);
    }
    if (loader.get() != null) {
      Thread.getAllStackTraces().keySet().forEach(System.out::println);
      status = 1;
    }
    pool.shutdown();
    System.exit(status);
  }

  @SuppressWarnings("unchecked")
  private static WeakReference<ClassLoader> deploy(Path dir, ExecutorService pool)
      throws Exception {
    List<URL> urls = new ArrayList<>();
    for (String p : System.getProperty("java.class.path").split(":")) {
      urls.add(Path.of(p).toUri().toURL());
    }
    URLClassLoader own =
        new URLClassLoader(urls.toArray(new URL[0]), ClassLoader.getPlatformClassLoader());
    BiConsumer<Path, ExecutorService> application =
        (BiConsumer<Path, ExecutorService>)
            own.loadClass(Application.class.getName()).getConstructor().newInstance();
    List<Future<?>> ends = new ArrayList<>();
    ends.add(pool.submit(() -> application.accept(dir, pool)));
    for (Future<?> f : ends) {
      f.get();
    }
    WeakReference<ClassLoader> kept = new WeakReference<>(own);
    own.close();
    return kept;
  }
}
