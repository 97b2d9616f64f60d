package io.fovea.spring.boot;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.lang.ref.WeakReference;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.FutureTask;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * An application that is stopped and started again in the same process, with a new class loader for
 * its classes but not for its jars, as Spring Boot's developer tools do it.
 */
class RestartTest {
  private static final String APP = RestartedApp.class.getName();

  @TempDir Path folder;

  @Test
  void applicationReleasesFileAndThreads() throws Exception {
    for (int i = 1; i <= 2; i++) {
      start(new ApplicationLoader(), APP, i);
    }
  }

  @Test
  void engineReleasesTheClassesOfTheApplication() throws Exception {
    for (int i = 1; i <= 2; i++) {
      WeakReference<ClassLoader> loader = start(new ApplicationLoader(), APP + "$WithoutSpring", i);
      for (int n = 0; n < 10 && loader.get() != null; n++) {
        System.gc();
      }
      assertNull(loader.get());
    }
  }

  private WeakReference<ClassLoader> start(ClassLoader loader, String name, int count)
      throws Exception {
    Set<Thread> before = threads();
    String file = folder.resolve("visits.fovea").toString();
    FutureTask<String> run = new FutureTask<>(() -> apply(loader, name, file));
    Thread main = new Thread(run);
    main.setContextClassLoader(loader);
    main.start();
    assertEquals(String.valueOf(count), run.get());
    main.join();
    Set<Thread> left = threads();
    left.removeAll(before);
    for (Thread thread : left) {
      // Ended by the close, which does not wait for all of them.
      assertTrue(thread.join(Duration.ofMinutes(1)), thread::getName);
    }
    return new WeakReference<>(loader);
  }

  private static String apply(ClassLoader loader, String name, String file) throws Exception {
    Class<?> type = Class.forName(name, true, loader);
    assertSame(loader, type.getClassLoader());
    @SuppressWarnings("unchecked")
    UnaryOperator<String> app = (UnaryOperator<String>) type.getDeclaredConstructor().newInstance();
    return app.apply(file);
  }

  /** The threads of the engine. */
  private static Set<Thread> threads() {
    Set<Thread> threads = new HashSet<>(Thread.getAllStackTraces().keySet());
    threads.removeIf(t -> !t.getName().startsWith("fovea-"));
    return threads;
  }

  /** Loads the application itself, and takes all other classes from its parent. */
  private static final class ApplicationLoader extends ClassLoader {
    ApplicationLoader() {
      super(RestartTest.class.getClassLoader());
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
      if (!name.startsWith(APP)) {
        return super.loadClass(name, resolve);
      }
      synchronized (getClassLoadingLock(name)) {
        Class<?> loaded = findLoadedClass(name);
        return loaded != null ? loaded : define(name);
      }
    }

    private Class<?> define(String name) throws ClassNotFoundException {
      try (InputStream in = getResourceAsStream(name.replace('.', '/') + ".class")) {
        byte[] bytes = in.readAllBytes();
        return defineClass(name, bytes, 0, bytes.length);
      } catch (IOException e) {
        throw new ClassNotFoundException(name, e);
      }
    }
  }
}
