# How every native package is linked, so that one file loads on every glibc since 2.28 (docs/adr/0021):
#
#   include(${CMAKE_CURRENT_LIST_DIR}/../../scripts/cmake/portable.cmake)
#   link_portably(${PROJECT_NAME})
#
# The C++ library is linked in, since the host's may be older. The unwinder is not: Node needs libgcc_s too, and a static
# unwinder asks for _dl_find_object of the glibc it was built with.
function(link_portably target)
  if(APPLE OR NOT UNIX)
    return()
  endif()
  find_package(Threads REQUIRED)
  set(older ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/glibc-2.28.cc)
  target_sources(${target} PRIVATE ${older})
  set_source_files_properties(${older} PROPERTIES SKIP_PRECOMPILE_HEADERS ON COMPILE_OPTIONS
                              "-fno-lto;-ffunction-sections;-fdata-sections")
  target_link_libraries(${target} PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
  target_link_options(${target} PRIVATE -static-libstdc++ -shared-libgcc -Wl,--exclude-libs,ALL
                      -Wl,--gc-sections)
  # Before 2.34 these held what is now in libc.so.6. The loader of 2.28 wants each name in the library that the addon says, and
  # only this machine's libc.so.6 has it: libraries with the old names alone, to link with, never to load.
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libpthread.so.0 OUTPUT_VARIABLE glibc
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT IS_ABSOLUTE "${glibc}" OR NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|amd64|AMD64|aarch64|arm64|ARM64")
    return() # another C library, or a processor that glibc-2.28.cc does not know
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${older})
  file(STRINGS ${older} lines REGEX "^MERCER_OLD\\(")
  foreach(library libpthread libdl)
    set(code "")
    set(versions "")
    foreach(line IN LISTS lines)
      if(NOT line MATCHES "\\(([a-z_]+), ([0-9.]+), (${library}[.so0-9]+)\\)")
        continue()
      endif()
      set(name ${CMAKE_MATCH_1})
      set(version ${CMAKE_MATCH_2})
      set(soname ${CMAKE_MATCH_3})
      if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64|ARM64")
        set(version 2.17)
      endif()
      string(APPEND code "__asm__(\".globl old_${name}\\n.type old_${name}, %function\\nold_${name}:\\n"
                         ".symver old_${name}, ${name}@GLIBC_${version}\");\n")
      list(APPEND versions ${version})
    endforeach()
    list(REMOVE_DUPLICATES versions)
    set(script "")
    foreach(version IN LISTS versions)
      string(APPEND script "GLIBC_${version} {};\n")
    endforeach()
    set(folder ${CMAKE_CURRENT_BINARY_DIR}/glibc-2.28)
    file(GENERATE OUTPUT ${folder}/${library}.cc CONTENT "${code}")
    file(GENERATE OUTPUT ${folder}/${library}.map CONTENT "${script}")
    add_library(${library}_older SHARED ${folder}/${library}.cc)
    set_target_properties(${library}_older PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${folder} NO_SONAME ON)
    target_link_options(${library}_older PRIVATE -nostdlib -Wl,-soname,${soname}
                        -Wl,--version-script,${folder}/${library}.map)
    add_dependencies(${target} ${library}_older)
    target_link_options(${target} PRIVATE
                        "-Wl,--push-state,--no-as-needed,$<TARGET_FILE:${library}_older>,--pop-state")
  endforeach()
endfunction()
