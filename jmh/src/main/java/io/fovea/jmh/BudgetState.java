package io.fovea.jmh;

import io.fovea.Database;
import io.fovea.Options;
import io.fovea.config.Translation;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/** A database in memory that is several times the last-level cache, and what opens it. */
@State(Scope.Benchmark)
public class BudgetState {
  /** Operations in one transaction: begin and commit are spread over them, and measured alone. */
  static final int OPERATIONS = 32;

  /** Records of the table that is measured. */
  @Param("1000000")
  public int records;

  /** How keys are drawn: {@code uniform} or {@code zipf}. */
  @Param("uniform")
  public String keys;

  /** How pages are found. */
  @Param("PREDICTIVE")
  public String translation;

  /** The database; open while benchmarks run. */
  Database db;

  /**
   * Opens the database.
   *
   * @param recordBytes what one record takes in a page, roughly
   */
  void open(int recordBytes) {
    long data = (long) records * recordBytes * 3 / 2;
    db =
        Database.inMemory(
            Options.defaults()
                .bufferBytes((256L << 20) + data)
                .experiments(exp -> exp.translation(Translation.valueOf(translation))));
  }

  /** Closes it. */
  @TearDown(Level.Trial)
  public void close() {
    db.close();
  }
}
