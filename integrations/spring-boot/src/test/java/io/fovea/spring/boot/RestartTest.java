package io.fovea.spring.boot;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;

import java.io.IOException;
import java.io.InputStream;
import java.lang.ref.WeakReference;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** An application that is stopped and started again in the same process leaves nothing behind. */
class RestartTest {
  private static final String APP = RestartedApp.class.getName();

  @TempDir Path folder;

  /** As Spring Boot's developer tools do: a new class loader for the application, not its jars. */
  @Test
  void applicationIsReloaded() throws Exception {
    List<WeakReference<ClassLoader>> loaders = new ArrayList<>();
    for (int i = 1; i <= 3; i++) {
      loaders.add(start(new ApplicationLoader(), i));
    }
    // Spring itself keeps the last one in caches.
    assertCollected(loaders.get(0));
  }

  /** As a servlet container does: a new class loader for everything, the engine included. */
  @Test
  void everythingIsReloaded() throws Exception {
    List<URL> urls = new ArrayList<>();
    for (String path : System.getProperty("java.class.path").split(":")) {
      urls.add(Path.of(path).toUri().toURL());
    }
    for (int i = 1; i <= 2; i++) {
      URLClassLoader loader =
          new URLClassLoader(
              urls.toArray(URL[]::new), ClassLoader.getPlatformClassLoader());
      WeakReference<ClassLoader> reference = start(loader, i);
      loader.close();
      loader = null;
      assertCollected(reference);
    }
  }

  private WeakReference<ClassLoader> start(ClassLoader loader, int count) throws Exception {
    Set<Thread> before = threads();
    Class<?> type = Class.forName(APP, true, loader);
    assertSame(loader, type.getClassLoader());
    @SuppressWarnings("unchecked")
    UnaryOperator<String> app =
        (UnaryOperator<String>) type.getDeclaredConstructor().newInstance();
    Thread current = Thread.currentThread();
    ClassLoader own = current.getContextClassLoader();
    current.setContextClassLoader(loader);
    try {
      assertEquals(String.valueOf(count), app.apply(folder.resolve("visits.fovea").toString()));
    } finally {
      current.setContextClassLoader(own);
    }
    Set<Thread> left = threads();
    left.removeAll(before);
    for (Thread thread : left) {
      thread.join(); // told to end by the close; hangs if it was not
    }
    return new WeakReference<>(loader);
  }

  /** The threads of the engine. */
  private static Set<Thread> threads() {
    Set<Thread> threads = new HashSet<>(Thread.getAllStackTraces().keySet());
    threads.removeIf(t -> !t.getName().startsWith("fovea-"));
    return threads;
  }

  private static void assertCollected(WeakReference<ClassLoader> loader) {
    for (int i = 0; i < 20 && loader.get() != null; i++) {
      System.gc();
    }
    assertNull(loader.get());
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
