# Packages one kernel of card/rtl as KERNEL.xo for v++ --link:
#   vivado -mode batch -source package.tcl -tclargs KERNEL FOLDER
# FOLDER holds KERNEL.xml and KERNEL_top.v, which describe.py writes, and gets KERNEL.xo.
lassign $argv kernel folder
set sources [file normalize [file join [file dirname [info script]] .. .. .. card rtl]]
set packaged [file join $folder ${kernel}_ip]

create_project -force ${kernel}_project [file join $folder ${kernel}_project]
add_files -norecurse [concat [lsort [glob $sources/*.sv]] [list $folder/${kernel}_top.v]]
set_property top ${kernel}_top [current_fileset]
update_compile_order -fileset sources_1

file delete -force $packaged
ipx::package_project -root_dir $packaged -vendor isthmus -library kernel -taxonomy /KernelIP \
    -import_files
set core [ipx::current_core]
set_property name $kernel $core
set_property version 1.0 $core
set_property sdx_kernel true $core
set_property sdx_kernel_type rtl $core
set_property supported_families {} $core
set_property auto_family_support_level level_2 $core

foreach bus [ipx::get_bus_interfaces -of_objects $core] {
  set name [get_property name $bus]
  if {[string match *_axi_* $name]} {
    ipx::associate_bus_interfaces -busif $name -clock ap_clk $core
  }
  if {[string match m_axi_* $name]} {
    # What the kernel does, so that the interconnect is built for it.
    foreach {parameter value} {
      MAX_BURST_LENGTH 64 NUM_READ_OUTSTANDING 16 NUM_WRITE_OUTSTANDING 16
      SUPPORTS_NARROW_BURST 0
    } {
      set_property value $value [ipx::add_bus_parameter $parameter $bus]
    }
  }
}
# Any clock will do: the frequency is the platform's.
set clock [ipx::get_bus_interfaces ap_clk -of_objects $core]
set_property value -1 [ipx::add_bus_parameter FREQ_TOLERANCE_HZ $clock]

ipx::create_xgui_files $core
ipx::update_checksums $core
ipx::save_core $core
close_project

package_xo -force -kernel_name $kernel -ip_directory $packaged \
    -kernel_xml [file join $folder $kernel.xml] -xo_path [file join $folder $kernel.xo]
