package io.fovea.jmh;

import io.fovea.Database;
import io.fovea.Options;
import io.fovea.Sequence;
import io.fovea.schema.SequenceSpec;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * The cost of a value of a sequence in a database in a file, at full speed: small blocks are used
 * up before the next one is durable.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(
    value = 1,
    jvmArgsAppend = {"--enable-native-access=ALL-UNNAMED"})
public class SequenceNext {
  /** Values reserved at a time. */
  @Param({"1000", "100000"})
  public int cached;

  private Path folder;
  private Database db;
  private Sequence sequence;

  @Setup(Level.Trial)
  public void open() throws IOException {
    folder = Files.createTempDirectory("fovea-sequence");
    db = Database.open(folder.resolve("s.fovea"), Options.defaults().bufferBytes(8 << 20));
    sequence = db.sequence(SequenceSpec.of("s").cached(cached));
  }

  @TearDown(Level.Trial)
  public void close() throws IOException {
    db.close();
    try (var files = Files.list(folder)) {
      for (Path file : files.toList()) {
        Files.delete(file);
      }
    }
    Files.delete(folder);
  }

  @Benchmark
  public long next() {
    return sequence.next();
  }
}
