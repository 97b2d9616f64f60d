package io.fovea.support;

import com.tngtech.archunit.thirdparty.org.objectweb.asm.ClassReader;
import com.tngtech.archunit.thirdparty.org.objectweb.asm.ClassVisitor;
import com.tngtech.archunit.thirdparty.org.objectweb.asm.ClassWriter;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;

/**
 * Loads the engine and its tests again, with calls of a probe woven into some classes. The bindings
 * and the probe are shared with the parent. Thread-safe.
 */
public abstract class WeavingLoader extends ClassLoader {
  private final String probe;

  /** Creates a loader whose woven classes call {@code probe}. */
  protected WeavingLoader(ClassLoader parent, Class<?> probe) {
    super(parent);
    this.probe = probe.getName();
  }

  /** Returns whether a class is woven; otherwise it is only loaded. */
  protected abstract boolean weaves(String name);

  /** Returns the visitor that adds the calls. */
  protected abstract ClassVisitor woven(ClassVisitor next);

  @Override
  protected final Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
    if (!name.startsWith("io.fovea.")
        || name.startsWith("io.fovea.bindings.")
        || name.equals(probe)) {
      return super.loadClass(name, resolve);
    }
    synchronized (getClassLoadingLock(name)) {
      Class<?> c = findLoadedClass(name);
      return c != null ? c : define(name);
    }
  }

  private Class<?> define(String name) throws ClassNotFoundException {
    String file = name.replace('.', '/') + ".class";
    try (InputStream in = getParent().getResourceAsStream(file)) {
      if (in == null) {
        throw new ClassNotFoundException(name);
      }
      byte[] bytes = in.readAllBytes();
      if (weaves(name)) {
        ClassWriter writer = new ClassWriter(ClassWriter.COMPUTE_MAXS);
        new ClassReader(bytes).accept(woven(writer), 0);
        bytes = writer.toByteArray();
      }
      return defineClass(name, bytes, 0, bytes.length);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
