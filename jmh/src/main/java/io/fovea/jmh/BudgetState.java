package io.fovea.jmh;

import io.fovea.Database;
import io.fovea.Options;
import io.fovea.config.Translation;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/** A database in memory, several times the size of the last-level cache. */
@State(Scope.Benchmark)
public class BudgetState {
  /** Operations per transaction, over which begin and commit are spread. */
  static final int OPERATIONS = 32;

  /** Records of the measured table. */
  @Param("1000000")
  public int records;

  /** The distribution of keys: {@code uniform} or {@code zipf}. */
  @Param("uniform")
  public String keys;

  /** The page translation. */
  @Param("PREDICTIVE")
  public String translation;

  Database db;

  /**
   * Opens the database.
   *
   * @param recordBytes approximate bytes of a record in a page
   */
  void open(int recordBytes) {
    long data = (long) records * recordBytes * 3 / 2;
    db =
        Database.inMemory(
            Options.defaults()
                .bufferBytes((256L << 20) + data)
                .experiments(exp -> exp.translation(Translation.valueOf(translation))));
  }

  /** Closes the database. */
  @TearDown(Level.Trial)
  public void close() {
    db.close();
  }
}
