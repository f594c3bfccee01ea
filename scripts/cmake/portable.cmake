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
  # Before 2.34 these held what is now in libc.so.6.
  foreach(name libpthread.so.0 libdl.so.2)
    execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=${name} OUTPUT_VARIABLE file
                    OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(IS_ABSOLUTE "${file}")
      target_link_options(${target} PRIVATE "-Wl,--push-state,--no-as-needed,${file},--pop-state")
    endif()
  endforeach()
endfunction()
