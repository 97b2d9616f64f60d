package io.fovea.reachability;

import com.tngtech.archunit.thirdparty.org.objectweb.asm.ClassReader;
import com.tngtech.archunit.thirdparty.org.objectweb.asm.ClassVisitor;
import com.tngtech.archunit.thirdparty.org.objectweb.asm.Handle;
import com.tngtech.archunit.thirdparty.org.objectweb.asm.MethodVisitor;
import com.tngtech.archunit.thirdparty.org.objectweb.asm.Opcodes;
import com.tngtech.archunit.thirdparty.org.objectweb.asm.Type;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * The calls in class files that need metadata: by name, by a generated class, or into native code.
 */
final class DynamicCalls {
  /** A call: the method that contains it, its number there, and what it calls. */
  record Site(String type, String method, int number, String callee) implements Comparable<Site> {
    String className() {
      return type.replace('/', '.');
    }

    @Override
    public String toString() {
      return className() + '.' + method + " #" + number + ": " + callee;
    }

    @Override
    public int compareTo(Site other) {
      return toString().compareTo(other.toString());
    }

    /** Returns the class and method that contain the call. */
    String caller() {
      return className() + '.' + method.substring(0, method.indexOf('('));
    }
  }

  /** Names of methods, by owner. Array and byte view handles name no member. */
  private static final Map<String, Pattern> CALLEES =
      Map.ofEntries(
          of(
              "java/lang/Class",
              "forName|newInstance|getRecordComponents|getEnumConstants|getPermittedSubclasses"
                  + "|getResource.*|get(Declared)?(Field|Method|Constructor)s?|get(Declared)?Classes"
                  + "|getNestMembers|getSigners"),
          of(
              "java/lang/invoke/MethodHandles$Lookup",
              "find.*|unreflect.*|bind|define.*|accessClass|ensureInitialized"),
          of("java/lang/invoke/MethodHandles", "privateLookupIn|reflectAs"),
          of("java/lang/invoke/MethodType", "fromMethodDescriptorString"),
          of("java/lang/reflect/RecordComponent", "getAccessor"),
          of("java/lang/reflect/Method", "invoke"),
          of("java/lang/reflect/Constructor", "newInstance"),
          of("java/lang/reflect/Field", "[gs]et.*"),
          of("java/lang/reflect/Array", "newInstance"),
          of("java/lang/reflect/Proxy", "newProxyInstance|getProxyClass"),
          of("java/lang/ClassLoader", ".*[lL]oadClass|define.*|get(System)?Resource.*|resources"),
          of("java/lang/Module", "getResourceAsStream"),
          of("java/util/ServiceLoader", "load.*"),
          of("java/util/ResourceBundle", "getBundle"),
          of("java/io/ObjectInputStream", "<init>|readObject"),
          of("java/io/ObjectOutputStream", "<init>|writeObject"),
          of("java/util/concurrent/atomic/AtomicIntegerFieldUpdater", "newUpdater"),
          of("java/util/concurrent/atomic/AtomicLongFieldUpdater", "newUpdater"),
          of("java/util/concurrent/atomic/AtomicReferenceFieldUpdater", "newUpdater"),
          of("java/lang/System", "load|loadLibrary"),
          of("java/lang/Runtime", "load|loadLibrary"),
          of("java/lang/foreign/Linker", "downcallHandle|upcallStub"),
          of("sun/misc/Unsafe", ".*"),
          // Passes names to Lookup.
          of("io/fovea/object/Binding", "method"));

  private static final String GENERATED = "io/fovea/bindings/generated/";

  private final Map<Site, String> sites = new TreeMap<>();
  private final Map<String, Set<String>> edges = new HashMap<>();

  private static Map.Entry<String, Pattern> of(String owner, String methods) {
    return Map.entry(owner, Pattern.compile(methods));
  }

  static boolean isDynamic(String owner, String name) {
    Pattern methods = CALLEES.get(owner);
    return methods != null && methods.matcher(name).matches()
        || owner.startsWith("jdk/internal/")
        || owner.startsWith("sun/reflect/");
  }

  static String callee(String owner, String name) {
    return owner.substring(owner.lastIndexOf('/') + 1).replace('$', '.') + '.' + name;
  }

  /** Returns the calls in some classes, without those in generated code that no other code runs. */
  static Collection<Site> in(Collection<byte[]> classes) {
    DynamicCalls calls = new DynamicCalls();
    for (byte[] bytes : classes) {
      new ClassReader(bytes).accept(calls.new Scan(), ClassReader.SKIP_FRAMES);
    }
    Set<String> reached = calls.reachedGenerated();
    calls
        .sites
        .entrySet()
        .removeIf(e -> e.getKey().type.startsWith(GENERATED) && !reached.contains(e.getValue()));
    return calls.sites.keySet();
  }

  /** Returns the class files of the jar or folder that contains a class. */
  static Collection<byte[]> filesOf(Class<?> type) {
    try {
      Path path = Path.of(type.getProtectionDomain().getCodeSource().getLocation().toURI());
      if (Files.isDirectory(path)) {
        return files(path);
      }
      try (FileSystem jar = FileSystems.newFileSystem(path)) {
        return files(jar.getPath("/"));
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (java.net.URISyntaxException e) {
      throw new IllegalStateException(e);
    }
  }

  private static Collection<byte[]> files(Path folder) throws IOException {
    try (Stream<Path> all = Files.walk(folder)) {
      return all.filter(p -> p.toString().endsWith(".class"))
          .filter(p -> !p.endsWith("module-info.class"))
          .map(DynamicCalls::read)
          .toList();
    }
  }

  private static byte[] read(Path file) {
    try (InputStream in = Files.newInputStream(file)) {
      return in.readAllBytes();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Returns the generated methods that code outside of the generated package can reach. */
  private Set<String> reachedGenerated() {
    Set<String> reached = new HashSet<>();
    Deque<String> open = new ArrayDeque<>();
    edges.forEach(
        (from, to) -> {
          if (!from.startsWith(GENERATED)) {
            open.addAll(to);
          }
        });
    while (!open.isEmpty()) {
      String method = open.pop();
      if (method.startsWith(GENERATED) && reached.add(method)) {
        open.addAll(edges.getOrDefault(method, Set.of()));
      }
    }
    return reached;
  }

  private final class Scan extends ClassVisitor {
    private String type = "";

    Scan() {
      super(Opcodes.ASM9);
    }

    @Override
    public void visit(
        int version, int access, String name, String signature, String base, String[] interfaces) {
      type = name;
    }

    @Override
    public MethodVisitor visitMethod(
        int access, String name, String descriptor, String signature, String[] exceptions) {
      String method = name + descriptor;
      Set<String> to = edges.computeIfAbsent(type + '.' + method, x -> new HashSet<>());
      return new MethodVisitor(Opcodes.ASM9) {
        private int number;

        private void call(String owner, String callee, String signature) {
          if (isDynamic(owner, callee)) {
            sites.put(new Site(type, method, ++number, callee(owner, callee)), type + '.' + method);
          }
          to.add(owner + '.' + callee + signature);
          to.add(owner + ".<clinit>()V");
        }

        @Override
        public void visitMethodInsn(
            int code, String owner, String callee, String signature, boolean isInterface) {
          call(owner, callee, signature);
        }

        @Override
        public void visitFieldInsn(int code, String owner, String field, String signature) {
          to.add(owner + ".<clinit>()V");
        }

        @Override
        public void visitInvokeDynamicInsn(
            String callee, String signature, Handle bootstrap, Object... arguments) {
          for (Object a : arguments) {
            if (a instanceof Handle h) {
              // A method reference is not traced, so that the test fails: write a lambda.
              call(h.getOwner(), h.getName(), h.getDesc());
            }
          }
        }
      };
    }
  }

  /** Weaves a call of {@link Trace#record} before each call in a class. */
  static final class Weaver extends ClassVisitor {
    private String type = "";

    Weaver(ClassVisitor next) {
      super(Opcodes.ASM9, next);
    }

    @Override
    public void visit(
        int version, int access, String name, String signature, String base, String[] interfaces) {
      type = name;
      super.visit(version, access, name, signature, base, interfaces);
    }

    @Override
    public MethodVisitor visitMethod(
        int access, String name, String descriptor, String signature, String[] exceptions) {
      return new Woven(
          super.visitMethod(access, name, descriptor, signature, exceptions),
          type,
          name + descriptor);
    }
  }

  private static final class Woven extends MethodVisitor {
    /** Above the locals of all methods here. */
    private static final int LOCALS = 1000;

    private final String type;
    private final String method;
    private int number;

    Woven(MethodVisitor next, String type, String method) {
      super(Opcodes.ASM9, next);
      this.type = type;
      this.method = method;
    }

    @Override
    public void visitInvokeDynamicInsn(
        String callee, String signature, Handle bootstrap, Object... arguments) {
      for (Object a : arguments) {
        if (a instanceof Handle h && isDynamic(h.getOwner(), h.getName())) {
          number++;
        }
      }
      super.visitInvokeDynamicInsn(callee, signature, bootstrap, arguments);
    }

    @Override
    public void visitMethodInsn(
        int code, String owner, String callee, String signature, boolean isInterface) {
      if (isDynamic(owner, callee)) {
        record(code == Opcodes.INVOKESTATIC, callee(owner, callee), signature, owner);
      }
      super.visitMethodInsn(code, owner, callee, signature, isInterface);
    }

    /** Copies the references among the operands into an array, and passes it to the trace. */
    private void record(boolean isStatic, String callee, String signature, String owner) {
      List<Type> types =
          Stream.concat(
                  isStatic ? Stream.empty() : Stream.of(Type.getObjectType(owner)),
                  Stream.of(Type.getArgumentTypes(signature)))
              .toList();
      for (int i = types.size() - 1; i >= 0; i--) {
        visitVarInsn(types.get(i).getOpcode(Opcodes.ISTORE), LOCALS + 2 * i);
      }
      visitLdcInsn(type);
      visitLdcInsn(method);
      visitIntInsn(Opcodes.SIPUSH, ++number);
      visitLdcInsn(callee);
      visitIntInsn(Opcodes.SIPUSH, types.size());
      visitTypeInsn(Opcodes.ANEWARRAY, "java/lang/Object");
      for (int i = 0; i < types.size(); i++) {
        if (types.get(i).getSort() >= Type.ARRAY) {
          visitInsn(Opcodes.DUP);
          visitIntInsn(Opcodes.SIPUSH, i);
          visitVarInsn(Opcodes.ALOAD, LOCALS + 2 * i);
          visitInsn(Opcodes.AASTORE);
        }
      }
      super.visitMethodInsn(
          Opcodes.INVOKESTATIC,
          Trace.class.getName().replace('.', '/'),
          "record",
          "(Ljava/lang/String;Ljava/lang/String;ILjava/lang/String;[Ljava/lang/Object;)V",
          false);
      for (int i = 0; i < types.size(); i++) {
        visitVarInsn(types.get(i).getOpcode(Opcodes.ILOAD), LOCALS + 2 * i);
      }
    }
  }
}
