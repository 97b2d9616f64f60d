package io.fovea.junit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.Database;
import io.fovea.Options;
import io.fovea.config.LeakDetection;
import java.nio.file.Path;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

/** Options from a class or a method, and what is refused. */
class OptionsTest {
  static final class Small implements OptionsCustomizer {
    private Small() {}

    @Override
    public Options customize(Options options) {
      return options.bufferBytes(4 << 20);
    }
  }

  static class Customized {
    private static Options own(Options options) {
      return options.name("own");
    }

    static Options fresh() {
      return Options.defaults().bufferBytes(8 << 20);
    }

    @Test
    void byClass(@FoveaDatabase(options = Small.class) Database db) {
      assertEquals(4 << 20, db.options().bufferBytes());
      assertEquals(LeakDetection.ALL, db.options().transactions().leakDetection());
    }

    @Test
    void byMethod(@FoveaDatabase(optionsMethod = "own") Database db) {
      assertEquals("own", db.name());
      assertEquals(16 << 20, db.options().bufferBytes());
    }

    @Test
    void byBoth(@FoveaDatabase(options = Small.class, optionsMethod = "own") Database db) {
      assertEquals("own", db.name());
      assertEquals(4 << 20, db.options().bufferBytes());
    }

    @Test
    void byMethodWithoutParameters(@FoveaDatabase(optionsMethod = "fresh") Database db) {
      assertEquals(8 << 20, db.options().bufferBytes());
      assertEquals(LeakDetection.SAMPLED, db.options().transactions().leakDetection());
    }

    @Test
    void byMethodOfAnotherClass(
        @FoveaDatabase(optionsMethod = "io.fovea.junit.OptionsTest#elsewhere") Database db) {
      assertEquals("elsewhere", db.name());
    }

    @Nested
    class Inner {
      @Test
      void byMethodOfTheOuterClass(@FoveaDatabase(optionsMethod = "own") Database db) {
        assertEquals("own", db.name());
      }
    }
  }

  static Options elsewhere(Options options) {
    return options.name("elsewhere");
  }

  @Test
  void optionsOfClassesAndMethods() {
    Run.of(Customized.class).succeeds(6);
  }

  static class NoMethod {
    @Test
    void one(@FoveaDatabase(optionsMethod = "missing") Database db) {}
  }

  static class NotStatic {
    Options options() {
      return Options.defaults();
    }

    @Test
    void one(@FoveaDatabase(optionsMethod = "options") Database db) {}
  }

  static class NoClass {
    @Test
    void one(@FoveaDatabase(optionsMethod = "no.such.Type#options") Database db) {}
  }

  static class WrongParameter {
    @Test
    void one(@FoveaDatabase String db) {}
  }

  static class WrongField {
    @FoveaDatabase String db;

    @Test
    void one() {}
  }

  static class FinalField {
    @FoveaDatabase final Database db = null;

    @Test
    void one() {}
  }

  static class NoFile {
    @Test
    void one(@FoveaDatabase Path file) {}
  }

  @FoveaDatabase(options = Small.class)
  static class Conflict {
    @Test
    void one(Database db, @FoveaDatabase(verify = false) Database other) {}
  }

  static class NotAnnotated {
    @Test
    void one(Database db) {}
  }

  static class NullOptions {
    static Options none() {
      return null;
    }

    @Test
    void one(@FoveaDatabase(optionsMethod = "none") Database db) {}
  }

  @Test
  void mistakesAreExplained() {
    refused(NoMethod.class, "no method static Options missing() or missing(Options)");
    refused(NotStatic.class, "no method static Options options()");
    refused(NoClass.class, "There is no class no.such.Type");
    refused(WrongParameter.class, "is a java.lang.String, but @FoveaDatabase injects");
    refused(WrongField.class, "WrongField.db is a java.lang.String, but @FoveaDatabase injects");
    refused(FinalField.class, "FinalField.db is final");
    refused(NoFile.class, "is in memory and has no file. Add location = TEMPORARY_FOLDER");
    refused(Conflict.class, "Give one of them another name");
    refused(NotAnnotated.class, "No ParameterResolver registered");
    refused(NullOptions.class, "\"none\" of @FoveaDatabase returned null");
  }

  private static void refused(Class<?> type, String message) {
    Throwable failure = Run.of(type).failure();
    assertTrue(failure.getMessage().contains(message), failure::toString);
  }
}
