package io.fovea.junit;

import io.fovea.Database;
import io.fovea.DatabaseStats;
import io.fovea.FileReport;
import io.fovea.Options;
import io.fovea.config.LeakDetection;
import io.fovea.error.DatabaseClosedException;
import io.fovea.error.DatabaseLockedException;
import io.fovea.junit.FoveaDatabase.Location;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.ExtensionConfigurationException;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.platform.commons.support.ReflectionSupport;
import org.opentest4j.AssertionFailedError;

/**
 * An open database, and what happens at its end: it is checked for open transactions and snapshots,
 * verified, closed and deleted.
 *
 * <p>Any thread.
 */
@SuppressWarnings("deprecation") // JUnit 5.12 closes no AutoCloseable
final class OpenDatabase implements ExtensionContext.Store.CloseableResource, AutoCloseable {
  private static final long POLL_NANOS = 1_000_000;

  /** How many problems a failure lists. */
  private static final int PROBLEMS_MAX = 20;

  private static final String HELP = " Close them in the test, for example by try-with-resources.";

  private final FoveaDatabase annotation;
  private final String what;
  private final @Nullable Path folder;
  private final Database database;

  /** Whether the test that left a transaction or snapshot open has failed already. */
  private volatile boolean leakReported;

  private OpenDatabase(
      FoveaDatabase annotation, String what, @Nullable Path folder, Database database) {
    this.annotation = annotation;
    this.what = what;
    this.folder = folder;
    this.database = database;
  }

  /** What tests have to close. */
  record Uses(long transactions, long snapshots) {
    static final Uses NONE = new Uses(0, 0);

    boolean isIn(Uses before) {
      return transactions <= before.transactions && snapshots <= before.snapshots;
    }
  }

  // -------------------------------------------------------------------------------------- opening

  static OpenDatabase open(FoveaDatabase annotation, ExtensionContext owner) {
    String name = annotation.name();
    String test = described(owner);
    String what = (name.isEmpty() ? "The database" : "Database \"" + name + '"') + " of " + test;
    Options options = options(annotation, owner, name.isEmpty() ? test : test + '/' + name);
    if (annotation.location() == Location.MEMORY) {
      return new OpenDatabase(annotation, what, null, Database.inMemory(options));
    }
    Path folder;
    try {
      folder = Files.createTempDirectory("fovea-junit");
    } catch (IOException e) {
      throw new UncheckedIOException(what + " has no temporary folder.", e);
    }
    try {
      return new OpenDatabase(annotation, what, folder, Database.open(file(folder), options));
    } catch (Throwable t) {
      Exception e = delete(folder);
      if (e != null) {
        t.addSuppressed(e);
      }
      throw t;
    }
  }

  /** Returns the name of a test or a test class in messages. */
  static String described(ExtensionContext context) {
    String type = context.getTestClass().map(Class::getName).orElse(context.getDisplayName());
    return context.getTestMethod().map(m -> type + '.' + described(context, m)).orElse(type);
  }

  private static String described(ExtensionContext context, Method method) {
    String display = context.getDisplayName();
    return display.startsWith(method.getName() + '(')
        ? display
        : method.getName() + "() \"" + display + '"';
  }

  private static Options options(FoveaDatabase annotation, ExtensionContext owner, String name) {
    Options options =
        Options.defaults()
            .name(name)
            .bufferBytes(16 << 20)
            .log(l -> l.segmentBytes(2 << 20))
            .transactions(
                t -> t.leakDetection(LeakDetection.ALL).closeTimeout(Duration.ofSeconds(1)));
    if (annotation.options() != OptionsCustomizer.class) {
      options = ReflectionSupport.newInstance(annotation.options()).customize(options);
    }
    String reference = annotation.optionsMethod();
    if (reference.isEmpty()) {
      return options;
    }
    Method method = optionsMethod(reference, owner.getRequiredTestClass());
    @Nullable Object[] arguments =
        method.getParameterCount() == 0 ? new Object[0] : new Object[] {options};
    Object result = ReflectionSupport.invokeMethod(method, null, arguments);
    if (result == null) {
      throw new ExtensionConfigurationException(
          "The optionsMethod \"" + reference + "\" of @FoveaDatabase returned null.");
    }
    return (Options) result;
  }

  private static Method optionsMethod(String reference, Class<?> test) {
    int hash = reference.indexOf('#');
    String name = reference.substring(hash + 1);
    Class<?> type = test;
    if (hash >= 0) {
      String typeName = reference.substring(0, hash);
      type =
          ReflectionSupport.tryToLoadClass(typeName, test.getClassLoader())
              .getOrThrow(
                  e ->
                      new ExtensionConfigurationException(
                          "There is no class "
                              + typeName
                              + ", which optionsMethod \""
                              + reference
                              + "\" of @FoveaDatabase names.",
                          e));
    }
    for (Class<?> c = type; c != null; c = hash < 0 ? c.getEnclosingClass() : null) {
      Class<?> in = c;
      Optional<Method> found =
          ReflectionSupport.findMethod(in, name, Options.class)
              .or(() -> ReflectionSupport.findMethod(in, name));
      if (found.isPresent()
          && Modifier.isStatic(found.get().getModifiers())
          && found.get().getReturnType() == Options.class) {
        return found.get();
      }
    }
    throw new ExtensionConfigurationException(
        "There is no method static Options "
            + name
            + "() or "
            + name
            + "(Options) in "
            + type.getName()
            + ", which optionsMethod \""
            + reference
            + "\" of @FoveaDatabase names.");
  }

  // ------------------------------------------------------------------------------------------ use

  Database database() {
    return database;
  }

  /** Returns the data file. */
  Path file() {
    if (folder == null) {
      throw new ExtensionConfigurationException(
          what
              + " is in memory and has no file. Add location = TEMPORARY_FOLDER to"
              + " @FoveaDatabase.");
    }
    return file(folder);
  }

  private static Path file(Path folder) {
    return folder.resolve("test.fovea");
  }

  /** Returns whether an annotation has more than a name. */
  static boolean hasSettings(FoveaDatabase a) {
    return a.location() != Location.MEMORY
        || a.options() != OptionsCustomizer.class
        || !a.optionsMethod().isEmpty()
        || !a.verify();
  }

  /** Requires that an annotation for this database has no other settings. */
  void requireSettings(FoveaDatabase other) {
    if (hasSettings(other) && !annotation.equals(other)) {
      throw new ExtensionConfigurationException(
          what
              + " is already open, as "
              + annotation
              + ", not as "
              + other
              + ". Give one of them another name, or both the same settings.");
    }
  }

  // ---------------------------------------------------------------------------------- open things

  /** Returns what is in use now. */
  Uses uses() {
    try {
      DatabaseStats stats = database.stats();
      return new Uses(stats.activeTransactions(), stats.snapshots().open());
    } catch (DatabaseClosedException e) {
      return Uses.NONE;
    }
  }

  /**
   * Returns a failure if a test has left something open.
   *
   * @param before what was in use before the test
   */
  @Nullable AssertionError leftOpen(ExtensionContext test, Uses before) {
    Uses after = usesAfterWaiting(before);
    if (after.isIn(before)) {
      return null;
    }
    leakReported = true;
    String in = Character.toLowerCase(what.charAt(0)) + what.substring(1);
    return new AssertionFailedError(
        described(test) + " left " + counted(before, after) + " open in " + in + '.' + HELP);
  }

  /** Waits for transactions that other threads are about to end. */
  private Uses usesAfterWaiting(Uses before) {
    Duration grace = database.options().transactions().closeTimeout();
    long start = System.nanoTime();
    while (true) {
      Uses now = uses();
      if (now.isIn(before) || System.nanoTime() - start >= grace.toNanos()) {
        return now;
      }
      LockSupport.parkNanos(POLL_NANOS);
    }
  }

  private static String counted(Uses before, Uses after) {
    List<String> parts = new ArrayList<>();
    count(parts, after.transactions - before.transactions, "transaction");
    count(parts, after.snapshots - before.snapshots, "snapshot");
    return String.join(" and ", parts);
  }

  private static void count(List<String> parts, long n, String noun) {
    if (n > 0) {
      parts.add(n + " " + noun + (n == 1 ? "" : "s"));
    }
  }

  // -------------------------------------------------------------------------------------- closing

  @Override
  public void close() {
    boolean interrupted = Thread.interrupted(); // by a timeout; waits here would fail
    List<AssertionError> failures = new ArrayList<>();
    try {
      boolean wasOpen = database.isOpen();
      boolean idle = !wasOpen || checkForLeaks(failures);
      boolean sound = verify(wasOpen, idle, failures) & closeDatabase(failures);
      if (folder != null && sound) {
        Exception e = delete(folder);
        if (e != null) {
          failures.add(
              new AssertionFailedError(what + " can't be deleted: its folder is " + folder, e));
        }
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
    if (!failures.isEmpty()) {
      AssertionError first = failures.getFirst();
      failures.subList(1, failures.size()).forEach(first::addSuppressed);
      throw first;
    }
  }

  /** Returns whether no transaction is open. */
  private boolean checkForLeaks(List<AssertionError> failures) {
    Uses uses = leakReported ? uses() : usesAfterWaiting(Uses.NONE);
    if (!leakReported && !uses.isIn(Uses.NONE)) {
      failures.add(
          new AssertionFailedError(
              what + " was left with " + counted(Uses.NONE, uses) + " open." + HELP));
    }
    return uses.transactions == 0;
  }

  /** Returns whether no problem was found. */
  private boolean verify(boolean wasOpen, boolean idle, List<AssertionError> failures) {
    if (!annotation.verify() || !idle) {
      return true;
    }
    List<String> problems = List.of();
    try {
      if (wasOpen) {
        problems = database.verify().problems();
      } else if (folder != null && Files.exists(file(folder))) {
        problems = FileReport.verify(file(folder), database.options()).problems();
      }
    } catch (DatabaseLockedException e) {
      failures.add(
          new AssertionFailedError(what + " was opened again and not closed." + kept(), e));
      return false;
    } catch (RuntimeException e) {
      failures.add(new AssertionFailedError(what + " can't be verified." + kept(), e));
      return false;
    }
    if (problems.isEmpty()) {
      return true;
    }
    failures.add(
        new AssertionFailedError(
            what
                + " is damaged."
                + kept()
                + " The verification found:\n  "
                + String.join("\n  ", shown(problems))));
    return false;
  }

  private static List<String> shown(List<String> problems) {
    if (problems.size() <= PROBLEMS_MAX) {
      return problems;
    }
    List<String> shown = new ArrayList<>(problems.subList(0, PROBLEMS_MAX));
    shown.add("and " + (problems.size() - PROBLEMS_MAX) + " more");
    return shown;
  }

  private boolean closeDatabase(List<AssertionError> failures) {
    try {
      database.close();
      return true;
    } catch (RuntimeException e) {
      failures.add(new AssertionFailedError(what + " can't be closed." + kept(), e));
      return false;
    }
  }

  private String kept() {
    return folder == null ? "" : " Its files are in " + folder + '.';
  }

  /** Deletes a folder as far as possible; returns the first failure, or null. */
  static @Nullable Exception delete(Path folder) {
    Exception first = null;
    try (Stream<Path> files = Files.walk(folder)) {
      for (Path p : files.sorted(Comparator.reverseOrder()).toList()) {
        try {
          Files.deleteIfExists(p);
        } catch (IOException | RuntimeException e) {
          first = joined(first, e);
        }
      }
    } catch (NoSuchFileException e) {
      // The test has deleted it.
    } catch (IOException | RuntimeException e) {
      first = joined(first, e);
    }
    return first;
  }

  private static Exception joined(@Nullable Exception first, Exception e) {
    if (first == null) {
      return e;
    }
    first.addSuppressed(e);
    return first;
  }
}
